import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { releaseChangelog } from './changelog.ts'
import { writeVersions } from './versions.ts'

/**
 * `npm run release:version -- 0.3.0`: writes the version of the next release to every file that names it, and gives the
 * unreleased entries of the changelog this version. It commits nothing (docs/decisions/0001).
 */

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** Throws unless `next` is a version after `current`. */
export function checkNext(current: string, next: string): void {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(next)) throw new Error(`${next} is not a version such as 0.3.0`)
  const numbers = (version: string): readonly number[] => version.split('.').map(Number)
  const difference = numbers(next)
    .map((number, at) => number - (numbers(current)[at] ?? 0))
    .find((each) => each !== 0)
  if (difference === undefined || difference < 0) throw new Error(`${next} does not come after ${current}`)
}

if (import.meta.main) {
  const { positionals } = parseArgs({ allowPositionals: true })
  const [version = ''] = positionals
  const { version: current } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  checkNext(current, version)
  const changelog = await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8')
  const released = releaseChangelog(changelog, version, new Date().toISOString().slice(0, 10))
  const texts = writeVersions(ROOT, version)
  for (const [file, text] of [...texts, ['CHANGELOG.md', released] as const]) await writeFile(join(ROOT, file), text)
  console.log(`Wrote version ${version} to ${texts.size} files and to CHANGELOG.md.`)
  console.log('Next: add a summary to the changelog, npm run generate, then docs/project/release.md.')
}
