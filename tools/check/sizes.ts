import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `npm run sizes`: how large the repository is. Product means `apps` and `packages` without tests; only files that git
 * tracks count. The figures stand in the closing note of every change. With --check it fails when a figure is more than
 * 3 % above its limit in `size-limits.json`. A change that needs more raises the limit there and writes the reason.
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

const sources = filesBelow('apps|packages', SOURCE)
const product = sources.filter((file) => !TEST.test(file))
const sorted = product.map(linesOf).toSorted((a, b) => a - b)
const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const campaigns = filesBelow('tests/campaigns', SOURCE)

/**
 * A file below 30 lines with one importer belongs into that file, unless its first lines say why not. A file that the
 * index of its package exports has the users of the package as importers.
 */
function smallWithOneImporter(files: readonly string[]): number {
  const importers = new Map<string, number>()
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    for (const [, keyword, path = ''] of text.matchAll(/^(?:\} from|(import|export).*?) '(\.[^']+)'/gmu)) {
      const target = join(file, '..', path)
      const isExported = /^packages\/[^/]+\/src\/index\.ts$/u.test(file) && keyword !== 'import'
      importers.set(target, (importers.get(target) ?? 0) + (isExported ? 2 : 1))
    }
  }
  return files.filter((file) => linesOf(file) < 30 && importers.get(file) === 1).length
}

function countIn(file: string, pattern: RegExp): number {
  return [...readFileSync(join(ROOT, file), 'utf8').matchAll(pattern)].length
}

const figures: Readonly<Record<string, number>> = {
  'product lines': sum(product),
  'product files': product.length,
  'median lines of a file': at(0.5),
  'p95 lines of a file': at(0.95),
  'longest file of TypeScript': Math.max(...product.filter((file) => !file.endsWith('.css')).map(linesOf)),
  'product files below 30 lines': sorted.filter((lines) => lines < 30).length,
  'of these with one importer': smallWithOneImporter(product),
  'lines of tests in apps and packages': sum(sources) - sum(product),
  'lines of tests, tools and bench': sum(filesBelow('tests|tools|bench', SOURCE)),
  campaigns: countIn('tests/campaigns/run.ts', /\(\) => import\(/gu),
  'lines of campaigns': sum(campaigns),
  benches: countIn('bench/run.ts', /^import .* from '\.\/(?!lib)/gmu),
  settings: countIn('docs/reference/settings.md', /^\| `[A-Z]/gmu),
  'docs files': filesBelow('docs', /./u).length,
  'bytes of CHANGELOG.md': statSync(join(ROOT, 'CHANGELOG.md')).size,
  'bytes of CONTRIBUTING.md': statSync(join(ROOT, 'CONTRIBUTING.md')).size,
  'steps to add a route': countIn('docs/project/add-a-route.md', /^## \d/gmu),
}

interface Limit {
  readonly limit: number
  readonly reason: string
}

const limits = JSON.parse(readFileSync(join(import.meta.dirname, 'size-limits.json'), 'utf8')) as Record<string, Limit>
const above = Object.entries(figures).filter(([name, figure]) => figure > (limits[name]?.limit ?? 0) * 1.03)

for (const [name, figure] of Object.entries(figures)) console.log(`${name.padEnd(38)} ${figure}`)
if (process.argv.includes('--check')) {
  for (const [name, figure] of above)
    console.log(
      `${name}: ${figure} is more than 3 % above ${limits[name]?.limit ?? 'no limit'} (tools/check/size-limits.json)`,
    )
  process.exitCode = above.length > 0 ? 1 : 0
}
