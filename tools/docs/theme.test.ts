import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
interface Theme {
  readonly readTokens: () => Readonly<Record<'light' | 'dark', Readonly<Record<string, string>>>>
  readonly themeStyles: () => string
}
const { readTokens, themeStyles } = (await import(join(ROOT, 'site/theme.mjs'))) as Theme

describe('the look of the documentation site', () => {
  it('takes every colour and font from the tokens of the console', () => {
    const { light, dark } = readTokens()
    expect(themeStyles()).toContain(`--sl-color-accent:${light['--accent']};`)
    expect(themeStyles()).toContain(`--sl-color-accent:${dark['--accent']};`)
    expect(light['--accent']).not.toBe(dark['--accent'])
    expect(themeStyles()).not.toContain('undefined')
  })

  it.each(globSync('docs/concepts/drawings/*.svg', { cwd: ROOT }))('is the look of %s', (file) => {
    const { light, dark } = readTokens()
    const drawing = readFileSync(join(ROOT, file), 'utf8')
    for (const { '--ink': ink, '--accent': accent } of [light, dark]) {
      expect(drawing).toContain(`svg { color: ${ink} }`)
      expect(drawing).toContain(`.accent { color: ${accent} }`)
    }
  })
})
