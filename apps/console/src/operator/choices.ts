/** Choices stored in this browser. None is a secret: names and numbers only. */

const PREFIX = 'chancery.'

export function readChoice(name: string): string | undefined {
  try {
    return localStorage.getItem(PREFIX + name) ?? undefined
  } catch {
    // Storage is off in this browser: every choice has its default.
    return undefined
  }
}

export function storeChoice(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value)
  } catch {
    // The choice then ends with the page.
  }
}
