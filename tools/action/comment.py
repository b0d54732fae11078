#!/usr/bin/env python3
"""comment.py REPORT.json REPORT.md: one comment of flipflop on the pull request of this run, made or brought up to date.

The comment is found by its first line, an HTML comment that the report begins with. Nothing changed and no comment yet:
none is made. Reads the run's own variables (GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_API_URL) and FLIPFLOP_TOKEN.
Status 1, with the reason, where there is no pull request, no permission or no network: the caller goes on.
"""
import json
import os
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 30
MOST_PAGES = 30   # of 100 comments


def api(method, path, token, body=None):
    url = os.environ.get("GITHUB_API_URL", "https://api.github.com") + path
    request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode())
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        return json.load(response)


def changed(report):
    return report["verdict"] != "pass" or bool(report["notes"]) or any(k["status"] != "same" for k in report["kernels"])


def existing(repository, number, marker, token):
    for page in range(1, MOST_PAGES + 1):
        comments = api("GET", f"/repos/{repository}/issues/{number}/comments?per_page=100&page={page}", token)
        for comment in comments:
            if comment["body"].startswith(marker):
                return comment["id"]
        if len(comments) < 100:
            return None
    return None


def main(report_path, markdown_path):
    token = os.environ.get("FLIPFLOP_TOKEN", "")
    event_path = os.environ.get("GITHUB_EVENT_PATH", "")
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    if not token:
        return "no token was given"
    if not event_path or not repository:
        return "this is not a run of GitHub Actions"
    try:
        with open(event_path) as file:
            number = json.load(file).get("pull_request", {}).get("number")
        if number is None:
            return "the run is not of a pull request"
        with open(report_path) as file:
            report = json.load(file)
        with open(markdown_path) as file:
            text = file.read()
        marker = text.splitlines()[0]
        if not marker.startswith("<!-- flipflop:"):
            return "the report has no marker"
        comment = existing(repository, number, marker, token)
        if comment is not None:
            api("PATCH", f"/repos/{repository}/issues/comments/{comment}", token, {"body": text})
        elif changed(report):
            api("POST", f"/repos/{repository}/issues/{number}/comments", token, {"body": text})
    except urllib.error.HTTPError as error:
        return f"the token may not comment (HTTP {error.code})" if error.code in (401, 403, 404) else f"HTTP {error.code}"
    except (urllib.error.URLError, OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    reason = main(*sys.argv[1:3])
    if reason:
        print(f"no comment: {reason}", file=sys.stderr)
        sys.exit(1)
