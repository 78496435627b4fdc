import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { releaseChangelog, sectionOf } from './changelog.ts'
import { checkNext } from './set-version.ts'
import { listVersions, writeVersions } from './versions.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

describe('the version of this tree', () => {
  it('is the same in every package, in the lock file and in the chart', () => {
    const named = listVersions(ROOT)
    const [first] = named
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter(({ version }) => version !== first?.version)).toEqual([])
  })

  it('has a section in the changelog, below the unreleased entries', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')
    const version = listVersions(ROOT)[0]?.version ?? ''
    expect(sectionOf(changelog, version)?.trim()).toMatch(/^[A-Z]/)
    expect(sectionOf(changelog, 'Unreleased')).toBeDefined()
  })
})

describe('writeVersions', () => {
  it('changes nothing else: the same version gives the same files', () => {
    const version = listVersions(ROOT)[0]?.version ?? ''
    const texts = writeVersions(ROOT, version)
    expect(texts.size).toBeGreaterThan(12)
    for (const [file, text] of texts) expect(text, file).toBe(readFileSync(join(ROOT, file), 'utf8'))
  })

  it('writes the version to every place that the list names', () => {
    const texts = writeVersions(ROOT, '9.8.7')
    const places = listVersions(ROOT)
    const written = [...texts.values()].flatMap((text) => [...text.matchAll(/9\.8\.7/g)])
    expect(written).toHaveLength(places.length)
  })
})

describe('checkNext', () => {
  it.each(['0.2.1', '0.10.0', '1.0.0'])('accepts %s after 0.2.0', (next) => {
    expect(() => checkNext('0.2.0', next)).not.toThrow()
  })
  it.each(['0.2.0', '0.1.9', '0.3', 'v0.3.0', '0.03.0', '0.3.0-rc.1', ''])('refuses «%s» after 0.2.0', (next) => {
    expect(() => checkNext('0.2.0', next)).toThrow(/version such as|come after/)
  })
})

describe('releaseChangelog', () => {
  const text = '# Changelog\n\n## Unreleased\n\n- One.\n\n## 0.1.0 (2030-01-01)\n\n- Zero.\n'

  it('moves the entries below the new version and leaves an empty section', () => {
    const released = releaseChangelog(text, '0.2.0', '2030-02-01')
    expect(sectionOf(released, 'Unreleased')?.trim()).toBe('')
    expect(sectionOf(released, '0.2.0')?.trim()).toBe('- One.')
    expect(sectionOf(released, '0.1.0')?.trim()).toBe('- Zero.')
  })

  it('refuses a version that is there, and a section without entries', () => {
    expect(() => releaseChangelog(text, '0.1.0', '2030-02-01')).toThrow(/already/)
    expect(() => releaseChangelog(text.replace('- One.\n', ''), '0.2.0', '2030-02-01')).toThrow(/no unreleased/)
  })
})
