/** Sections of CHANGELOG.md. */

const UNRELEASED = '## Unreleased'

export class ChangelogError extends Error {
  override readonly name = 'ChangelogError'
}

/** Gives the unreleased entries a version and a date, and starts an empty section above them. */
export function releaseChangelog(text: string, version: string, date: string): string {
  if (sectionOf(text, version) !== undefined) throw new ChangelogError(`CHANGELOG.md has a section ${version} already`)
  const entries = sectionOf(text, 'Unreleased')
  if (entries === undefined) throw new ChangelogError(`CHANGELOG.md has no line «${UNRELEASED}»`)
  if (entries.trim() === '') throw new ChangelogError('CHANGELOG.md has no unreleased entries')
  return text.replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## ${version} (${date})\n`)
}

/** The text below the heading of a version, without the heading. Undefined when there is none. */
export function sectionOf(text: string, name: string): string | undefined {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line === `## ${name}` || line.startsWith(`## ${name} (`))
  if (start === -1) return undefined
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('## '))
  return lines.slice(start + 1, length === -1 ? undefined : start + 1 + length).join('\n')
}
