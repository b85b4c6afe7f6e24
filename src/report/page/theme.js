/* SPDX-License-Identifier: MIT */
/* Light and dark: as the system says, until the switch is used. */

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function themeSwitch() {
  const button = element("button", {type: "button", id: "theme", onclick: () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  }});
  function name() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to the " + (isDark() ? "light" : "dark") + " theme");
  }
  name();
  return button;
}
