# browser.py - a Chromium without a head, for the status page.
# SPDX-License-Identifier: ISC
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
service = pytest.importorskip("selenium.webdriver.chrome.service")

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
         "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--no-proxy-server")


def start(folder, width=1300, height=1000):
    """One that keeps what it writes in folder."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no chromium, or no driver for it")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument("--user-data-dir=%s" % folder)
    options.add_argument("--window-size=%d,%d" % (width, height))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(
        options=options,
        service=service.Service(executable_path=driver))


def complaints(browser):
    """What its console has had to say since the last time."""
    return [e["message"] for e in browser.get_log("browser")
            if e["level"] in ("SEVERE", "WARNING")]
