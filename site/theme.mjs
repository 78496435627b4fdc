import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Colours and fonts of the site. They are the tokens of the console, so that both have one look. */

const TOKENS = join(import.meta.dirname, '../apps/console/src/styles/tokens.css')

/** Which token each property of the theme takes. */
const PROPERTIES = {
  '--sl-color-white': '--ink',
  '--sl-color-text': '--ink',
  '--sl-color-gray-3': '--quiet',
  '--sl-color-bg': '--canvas',
  '--sl-color-bg-nav': '--surface',
  '--sl-color-bg-sidebar': '--surface',
  '--sl-color-bg-inline-code': '--accent-soft',
  '--sl-color-hairline-light': '--line',
  '--sl-color-hairline': '--line',
  '--sl-color-accent-low': '--accent-soft',
  '--sl-color-accent': '--accent',
  '--sl-color-accent-high': '--accent',
  '--sl-color-text-accent': '--accent',
  '--sl-color-text-invert': '--canvas',
  '--sl-color-bg-accent': '--accent',
  '--sl-font': '--sans',
  '--sl-font-mono': '--mono',
}

/** Returns the tokens of both colour schemes. The dark scheme overrides the light one. */
export function readTokens(text = readFileSync(TOKENS, 'utf8')) {
  const [light, dark] = [...text.matchAll(/:root \{([^}]*)\}/g)].map(([, body]) =>
    Object.fromEntries(
      [...body.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value.replaceAll(/\s+/g, ' ')]),
    ),
  )
  return { light, dark: { ...light, ...dark } }
}

/** Returns the style sheet of the theme. */
export function themeStyles() {
  const { light, dark } = readTokens()
  const rule = (scheme, tokens) => {
    const lines = Object.entries(PROPERTIES).map(([property, token]) => `${property}:${tokens[token]}`)
    return `:root[data-theme='${scheme}']{${lines.join(';')}}`
  }
  return rule('light', light) + rule('dark', dark)
}
