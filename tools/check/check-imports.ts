import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cruise } from 'dependency-cruiser'
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'
import boundaries from './boundaries.json' with { type: 'json' }

/** `node tools/check/check-imports.ts`: who may import whom, and which words only some files may use. */

export interface Finding {
  readonly rule: string
  readonly file: string
  readonly message: string
}

/** Which feature may import which others. */
export type Arrows = Readonly<Record<string, readonly string[]>>

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDERS = ['packages', 'apps', 'tests', 'tools', 'bench']

/** Everything wrong with the tree below `root`, sorted by file. */
export async function checkImports(root: string = ROOT): Promise<Finding[]> {
  const circles = Object.values<Arrows>(boundaries.features).flatMap((arrows) => checkCircles(arrows))
  const findings = [...(await checkArrows(root)), ...WORD_RULES.flatMap((rule) => checkWords(root, rule)), ...circles]
  return findings.toSorted((a, b) => a.file.localeCompare(b.file))
}

async function checkArrows(root: string): Promise<Finding[]> {
  const options = await extractOptions(join(ROOT, '.dependency-cruiser.mjs'))
  const { output } = await cruise(
    FOLDERS.filter((folder) => existsSync(join(root, folder)) && readdirSync(join(root, folder)).length > 0),
    { ...options, baseDir: root },
    options.enhancedResolveOptions,
  )
  if (typeof output === 'string') throw new Error(output)
  const sentences = new Map(options.ruleSet?.forbidden?.map((rule) => [rule.name, rule.comment]))
  return output.summary.violations.map(({ rule, from, to }) => ({
    rule: rule.name,
    file: from,
    message: `imports ${to}, but ${sentences.get(rule.name) ?? rule.name}`,
  }))
}

/** Arrows may not lead back to where they began. */
export function checkCircles(arrows: Arrows): Finding[] {
  return Object.keys(arrows)
    .filter((feature) => reachableFrom(feature, arrows).has(feature))
    .map((feature) => ({
      rule: 'feature-circle',
      file: 'tools/check/boundaries.json',
      message: `the arrows of ${feature} lead back to ${feature}`,
    }))
}

function reachableFrom(feature: string, arrows: Arrows): ReadonlySet<string> {
  const reached = new Set<string>(arrows[feature])
  // A set visits what is added while it is walked.
  for (const each of reached) for (const next of arrows[each] ?? []) reached.add(next)
  return reached
}

/** Names of the platform that contain a domain word. */
const PLATFORM_NAMES = /\bagent: false\b|\bgetCACertificates\b/g

interface WordRule {
  readonly rule: string
  readonly files: string
  /** Files that may use the words. Tests and suites always may. */
  readonly allowed?: RegExp
  readonly words: RegExp
  readonly reason: string
}

const WORD_RULES: readonly WordRule[] = [
  {
    rule: 'domain-word',
    files: 'packages/service-kit/src/**/*.ts',
    words: new RegExp(`(?:${boundaries.domainWords.join('|')})`, 'i'),
    reason: 'the service kit knows no domain word',
  },
  {
    rule: 'engine',
    files: 'apps/authority/src/features/**/*.ts',
    // The last two print the name of the engine; the probe also lets only a server answer late.
    allowed: /\/queries(?:\/|\.ts$)|\/(?:dashboard\/view|health\/database-probe)\.ts$/,
    words: /\bengine\b/,
    reason: 'in a feature only queries.ts or queries/ may differ per database engine',
  },
  {
    rule: 'audit-table',
    files: 'apps/authority/src/**/*.ts',
    allowed:
      /\/src\/(?:audit\/|recovery\/|database\/(?:migrations\/|partitions\/audit-partitions\.ts$|tables\.ts$|sizes\/table-(?:ends|shares)\.ts$))/,
    words: /\baudit_events\b/,
    reason: 'only audit/, recovery/ and migrations use this table',
  },
]

/** Comments may explain with any word; code may not use these. */
function checkWords(root: string, { rule, files, allowed, words, reason }: WordRule): Finding[] {
  return globSync(files, { cwd: root, exclude: ['**/*.test.ts', '**/*.suite.ts'] })
    .filter((file) => allowed?.test(file) !== true)
    .flatMap((file) =>
      blankComments(readFileSync(join(root, file), 'utf8'))
        .split('\n')
        .flatMap((line, index) => {
          const found = words.exec(line.replace(PLATFORM_NAMES, ''))?.[0]
          const message = `says «${found}», but ${reason}`
          return found === undefined ? [] : [{ rule, file: `${file}:${index + 1}`, message }]
        }),
    )
}

/** Keeps strings and line numbers. Quotes are matched first, so that a // inside a string stays. */
export function blankComments(source: string): string {
  const parts = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/.*/g
  return source.replaceAll(parts, (part) => (part.startsWith('/') ? part.replaceAll(/[^\n]/g, ' ') : part))
}

if (import.meta.main) {
  const findings = await checkImports()
  for (const { file, message, rule } of findings) console.log(`${file}: ${message} [${rule}]`)
  process.exitCode = findings.length === 0 ? 0 : 1
}
