#!/usr/bin/env python3
"""The HTML report in headless Chromium: opens from a file and from a server, answers to clicks, complains of nothing in the
console, asks the network for nothing, and obeys its own content security policy. Exit 77: no browser here.
    report_test.py FLIPFLOP SOURCES [--shots FOLDER]
"""
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

FLIPFLOP, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SHOTS = pathlib.Path(sys.argv[sys.argv.index("--shots") + 1]).resolve() if "--shots" in sys.argv else None
FAILED = []


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def check(truth, what):
    if not truth:
        FAILED.append(what)
        print(f"FAILED: {what}")


def find_browser():
    chromium = next((p for p in ("chromium", "chromium-browser", "google-chrome") if shutil.which(p)), None)
    if chromium is None:
        skip("no Chromium (make browser installs it)")
    if shutil.which("chromedriver") is None:
        skip("no chromedriver (Debian: chromium-driver)")
    try:
        import selenium  # noqa: F401
    except ImportError:
        skip("no Selenium (Debian: python3-selenium)")
    return shutil.which(chromium)


def start(chromium, profile, dark=False, script=True, width=1280, height=1000):
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    options = Options()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync", f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if not script:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    browser.set_page_load_timeout(60)
    # The window's inside, not its frame.
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    return browser


def requests_of(browser):
    """Every URL that the page asked for, the document itself included."""
    urls = {}
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls[message["params"]["requestId"]] = message["params"]["request"]["url"]
        elif message["method"] == "Network.loadingFailed" and message["params"].get("blockedReason") == "csp":
            urls.pop(message["params"]["requestId"], None)   # announced, and stopped by the policy before it left
    return [u for u in urls.values() if not u.startswith(("data:", "chrome", "about:", "devtools:"))]


def complaints_of(browser):
    return [e["message"] for e in browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]


def shoot(browser, name, whole=False):
    if SHOTS is None:
        return
    import base64
    SHOTS.mkdir(parents=True, exist_ok=True)
    arguments = {"format": "png", "captureBeyondViewport": whole}
    if whole:
        size = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        arguments["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
    (SHOTS / name).write_bytes(base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", arguments)["data"]))


def no_overflow(browser, what):
    wide = browser.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    check(wide <= 1, f"{what}: the page itself scrolls sideways by {wide} px")


def try_interactive(browser, url, has_charts):
    from selenium.webdriver.common.by import By
    browser.get(url)
    check(complaints_of(browser) == [], f"{url}: the console has complaints")
    asked = requests_of(browser)
    check(all(u == url for u in asked), f"{url}: the page asked for {[u for u in asked if u != url]}")
    figures = browser.find_elements(By.CSS_SELECTOR, "figure[data-chart]")
    check(len(figures) >= 5, f"only {len(figures)} charts")
    for figure in figures:
        svg = figure.find_element(By.CSS_SELECTOR, "svg.plot")
        canvas = figure.find_elements(By.CSS_SELECTOR, "canvas")
        name = figure.get_attribute("data-chart")
        if has_charts:
            check(len(canvas) == 1 and canvas[0].size["height"] > 40 and not svg.is_displayed(), f"{name}: no live chart in place of the drawing")
            painted = browser.execute_script("const c=arguments[0].getContext('2d').getImageData(0,0,arguments[0].width,arguments[0].height).data;let n=0;for(let i=3;i<c.length;i+=4)n+=c[i]>0;return n", canvas[0]) if canvas else 0
            check(painted > 500, f"{name}: the canvas is empty")
        else:
            check(svg.is_displayed(), f"{name}: the drawing is hidden though there is no chart")
        check(len(figure.find_elements(By.CSS_SELECTOR, "details.data tbody tr")) > 0, f"{name}: no table behind it")
    if has_charts:
        hover = """const chart = Object.values(Chart.instances).find(c => c.canvas.closest('figure').dataset.chart.endsWith('-pareto'));
          const set = chart.data.datasets.findIndex(d => d.label === 'recommended'), at = chart.getDatasetMeta(set).data[0], box = chart.canvas.getBoundingClientRect();
          chart.canvas.dispatchEvent(new MouseEvent('mousemove', {clientX: box.left + at.x, clientY: box.top + at.y, bubbles: true}));
          return new Promise(done => setTimeout(() => done([chart.tooltip.opacity, chart.tooltip.title.join(' '), chart.tooltip.body.map(b => b.lines.join('|')).join('|')]), 150));"""
        opacity, title, body = browser.execute_script(hover)
        check(opacity > 0 and "recommended" in title, f"hovering shows no tooltip: {title!r}")
        check("time" in body and "energy" in body and "time goes to" in body and "(" in body, f"the tooltip lacks terms or intervals: {body!r}")
    # A click sorts; a second click turns the order round.
    table = browser.find_element(By.CSS_SELECTOR, "section.kernel table.sortable")
    heading = [h for h in table.find_elements(By.CSS_SELECTOR, "thead th") if h.text.startswith("time")][0]
    times = "return [...arguments[0].tBodies[0].rows].map(r => parseFloat(r.cells[3].dataset.v)).filter(x => !isNaN(x))"
    for order, word in ((sorted, "ascending"), (lambda v: sorted(v, reverse=True), "descending")):
        button = heading.find_element(By.TAG_NAME, "button")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
        button.click()
        values = browser.execute_script(times, table)
        check(len(values) > 1 and values == order(values), f"a click on 'time' does not sort {word}: {values}")
        check(heading.get_attribute("aria-sort") == word, f"aria-sort is not {word}")
    # The theme turns, and the charts with it.
    background = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(background)
    browser.execute_script("scrollTo({top: 0, behavior: 'instant'})")
    browser.find_element(By.CSS_SELECTOR, "button.theme").click()
    check(browser.execute_script(background) != before, "the theme button changes nothing")
    browser.find_element(By.CSS_SELECTOR, "button.theme").click()
    check(browser.execute_script(background) == before, "the theme button does not turn back")
    # The policy holds: nothing that was not there when the report was written runs or loads.
    browser.get_log("browser")
    ran = browser.execute_script("""const s = document.createElement('script'); s.textContent = 'window.injected = true'; document.body.appendChild(s);
      const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png'; document.body.appendChild(i);
      const d = document.createElement('div'); d.innerHTML = '<p onclick="window.injected = true" style="color:red">x</p>'; document.body.appendChild(d); d.firstChild.click(); return window.injected === true""")
    check(not ran, "the content security policy let a foreign script run")
    check(any("Content Security Policy" in m for m in complaints_of(browser)), "the policy is not in force")
    check(all(u == url for u in requests_of(browser)), "the policy let the page ask the network")


def contrast(browser):
    """The smallest contrast of text to its background among what a reader reads (WCAG 2: 4.5)."""
    return browser.execute_script("""
      function rgb(c) { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m; }
      function lum(c) { const f = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; }
      let least = [21, ''];
      for (const e of document.querySelectorAll('p,li,td,th,h1,h2,h3,h4,summary,figcaption,span,a,button,code')) {
        if (!e.offsetParent || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
        let b = e; while (b && !rgb(getComputedStyle(b).backgroundColor)) b = b.parentElement;
        const x = lum(rgb(getComputedStyle(e).color)), y = lum(b ? rgb(getComputedStyle(b).backgroundColor) : [255, 255, 255]);
        const ratio = (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
        if (ratio < least[0]) least = [ratio, e.tagName + '.' + e.className + ' ' + e.textContent.trim().slice(0, 40)];
      }
      return least;""")


def try_static(browser, url):
    from selenium.webdriver.common.by import By
    browser.get(url)
    drawings = browser.find_elements(By.CSS_SELECTOR, "figure[data-chart] svg.plot")
    check(len(drawings) >= 5 and all(d.is_displayed() for d in drawings), "without JavaScript a drawing is missing")
    check(browser.find_elements(By.CSS_SELECTOR, "canvas") == [], "without JavaScript there is a canvas")
    check(not browser.find_element(By.CSS_SELECTOR, "button.theme").is_displayed(), "without JavaScript a dead button shows")


def serve(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *a, **k):
            super().__init__(*a, directory=str(folder), **k)

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


EVIL = '_Z3x</script><img/src=x/onerror=alert(1)>`**|@all'


def write_reports(folder):
    def run(*arguments, allowed=(0,), cwd=SOURCES):
        done = subprocess.run([str(FLIPFLOP), *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)
        if done.returncode not in allowed:
            print(done.stdout, done.stderr)
            sys.exit(f"{' '.join(arguments)}: exit {done.returncode}")
    run("analyze", "examples/transpose_naive.ptx", "--gpu", "a100-pcie", "--work", "4096,4096", "--arg", "param_2=4096", "--arg", "param_3=4096", "--current", "16,16", "--ptxas", "off", "--format", f"html={folder}/report.html")
    run("analyze", "examples/gemm_tiled.ptx", "--gpu", "a100", "--ptxas", "off", "--format", f"html={folder}/gemm.html")
    (folder / "flipflop.toml").write_text('[energy]\nlaunches_per_day = 1000000\ngrams_co2e_per_kwh = 350\nprice_per_kwh = 0.3\n')
    (folder / "main").mkdir()
    requests = SOURCES / "examples/ci"
    for source, place in (("repository", folder / "main"), ("pull-requests/2-regression", folder)):
        (place / "particles.ptx").write_text((requests / source / "kernels/particles.ptx").read_text())
    run("check", "particles.ptx", "--base", "main/particles.ptx", "--gpu", "a100", "--ptxas", "off", "--format", "html=check.html", allowed=(1,), cwd=folder)
    # A kernel whose name and source file try to break out, wherever they end up.
    ptx = (SOURCES / "examples/axpy.ptx").read_text()
    ptx = ptx.replace(".file\t1 \"", f".file\t1 \"{EVIL.replace('/', '')}")
    (folder / f"{EVIL.replace('/', '')}.ptx").write_text(ptx)
    run("analyze", str(folder / f"{EVIL.replace('/', '')}.ptx"), "--gpu", "a100", "--ptxas", "off", "--format", f"html={folder}/evil.html")


def main():
    chromium = find_browser()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_reports(folder)
        has_charts = "Chart.js v3" in (folder / "report.html").read_text()
        for page in ("report", "gemm", "check", "evil"):
            check((folder / f"{page}.html").stat().st_size < 2_000_000, f"{page}.html has more than 2 MB")
        browser = start(chromium, folder / "profile")
        try:
            try_interactive(browser, (folder / "report.html").as_uri(), has_charts)
            server = serve(folder)
            try_interactive(browser, f"http://127.0.0.1:{server.server_port}/report.html", has_charts)
            server.shutdown()
            for page in ("check", "evil", "gemm"):
                browser.get((folder / f"{page}.html").as_uri())
                check(complaints_of(browser) == [], f"{page}.html: the console has complaints")
                check(browser.execute_script("return window.injected === undefined && !document.querySelector('img')"), f"{page}.html: something was injected")
                no_overflow(browser, page)
            for theme in ("light", "dark"):
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
                for page in ("report", "check", "gemm"):
                    browser.get((folder / f"{page}.html").as_uri())
                    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
                    ratio, where = contrast(browser)
                    check(ratio >= 4.5, f"{page}.html, {theme}: contrast of {ratio:.2f} at {where}")
                    browser.get((folder / f"{page}.html").as_uri())
                    shoot(browser, f"{page}-{theme}.png", whole=True)
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True})
            for page in ("report", "check"):
                browser.get((folder / f"{page}.html").as_uri())
                no_overflow(browser, f"{page} at 390 px")
                shoot(browser, f"{page}-narrow.png", whole=True)
            browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            browser.get((folder / "report.html").as_uri())
            pdf = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
            check(len(pdf) > 10000, "printing gives an empty page")
            if SHOTS is not None:
                import base64
                (SHOTS / "report-print.pdf").write_bytes(base64.b64decode(pdf))
        finally:
            browser.quit()
        browser = start(chromium, folder / "profile-static", script=False)
        try:
            try_static(browser, (folder / "report.html").as_uri())
            shoot(browser, "report-static.png", whole=True)
        finally:
            browser.quit()
    if not has_charts:
        print("note: built without Chart.js; only the drawings were tried")
    if FAILED:
        sys.exit(f"{len(FAILED)} checks failed")
    print("the report opens, answers and asks for nothing")


main()
