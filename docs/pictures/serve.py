"""Draw docs/images/serve-light.png and serve-dark.png: the live page while the demo's stream runs.

``python docs/pictures/serve.py [--browser /usr/bin/chromium]`` needs ``playwright``.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "images"
DEMO = Path(__file__).parents[2] / "examples/serve/demo.py"
PORT = 8097
SECONDS = 90
EXAMPLE = '{"amount": 2.5, "night": 1.0, "new_device": 0.0, "distance": 0.4, "shop": "phones"}'


def main() -> None:
    """Let the stream run, then photograph the page in both themes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--browser", default="/usr/bin/chromium")
    browser_path = parser.parse_args().browser
    command = [sys.executable, str(DEMO), "--port", str(PORT)]
    demo = subprocess.Popen([*command, "--seconds", str(SECONDS)])
    try:
        time.sleep(SECONDS * 0.7)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=browser_path)
            for theme in ("light", "dark"):
                size = {"width": 1280, "height": 900}
                page = browser.new_page(viewport=size, color_scheme=theme)
                page.goto(f"http://127.0.0.1:{PORT}/")
                page.fill("#input", EXAMPLE)
                page.click("#predict-form button")
                page.wait_for_selector("#parts .bar")
                page.wait_for_selector("#strongest .bar")
                page.wait_for_timeout(1500)
                page.screenshot(path=IMAGES / f"serve-{theme}.png", full_page=True)
            browser.close()
    finally:
        demo.wait(timeout=SECONDS + 60)


if __name__ == "__main__":
    main()
