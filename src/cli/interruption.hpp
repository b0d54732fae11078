// Owns: what happens when a user or a job's time limit stops a command: compilers that run are ended, temporary folders
// removed, and the signal ends the program as it would have.
#pragma once

namespace flipflop::cli {

/// Before any thread is started: SIGINT, SIGTERM and SIGHUP are blocked and taken by a thread that waits for them. A signal
/// that the parent has us ignore (nohup) stays ignored.
void clean_up_when_interrupted();

}  // namespace flipflop::cli
