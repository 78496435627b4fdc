import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `npm run sizes`: how large the repository is. Product means `apps` and `packages` without tests; only files that git
 * tracks count. The figures stand in the closing note of every change.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const TEST = /\.(?:test|suite)\.tsx?$|\/testing\//u
const SOURCE = /\.(?:ts|tsx|css)$/u

const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 26 }).split('\n')

function linesOf(file: string): number {
  return readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1
}

function filesBelow(folders: string, pattern: RegExp): readonly string[] {
  const start = new RegExp(`^(?:${folders})/`, 'u')
  return tracked.filter((file) => start.test(file) && pattern.test(file))
}

function sum(files: readonly string[]): number {
  return files.reduce((all, file) => all + linesOf(file), 0)
}

function kilobytes(file: string): string {
  return `${(statSync(join(ROOT, file)).size / 1000).toFixed(1)} KB`
}

const sources = filesBelow('apps|packages', SOURCE)
const product = sources.filter((file) => !TEST.test(file))
const sorted = product.map(linesOf).toSorted((a, b) => a - b)
const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const campaigns = filesBelow('tests/campaigns', SOURCE)

const rows: readonly (readonly [string, string | number])[] = [
  ['product lines', sum(product)],
  ['product files', product.length],
  ['median / p95 / max lines of a file', `${at(0.5)} / ${at(0.95)} / ${at(1)}`],
  ['product files below 30 lines', sorted.filter((lines) => lines < 30).length],
  ['lines of tests in apps and packages', sum(sources) - sum(product)],
  ['lines of tests, tools and bench', sum(filesBelow('tests|tools|bench', SOURCE))],
  ['lines of campaigns', sum(campaigns)],
  ['docs files', filesBelow('docs', /./u).length],
  ['CHANGELOG / CONTRIBUTING', `${kilobytes('CHANGELOG.md')} / ${kilobytes('CONTRIBUTING.md')}`],
]
for (const [name, value] of rows) console.log(`${name.padEnd(38)} ${value}`)
