// Typesets what pymdownx.arithmatex has marked: \(...\) in a line, \[...\] on lines of its own.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const formula = element.textContent.trim();
    katex.render(formula.slice(2, -2), element, {
      displayMode: formula.startsWith("\\["),
      throwOnError: false,
    });
  }
});
