import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result, Style } from '../../output/screen.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, readText, replaceFile, toFailure } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadStructured } from '../../files/json-file.ts'
import { withCedar } from './cedar.ts'
import { type CaseResult, type SourceFile, type TestReport, runPolicyTests } from './policy-tests.ts'

/** The results as JUnit XML, the form build servers read. One suite for each file with cases. */
function junitXml({ results }: TestReport): string {
  const files = [...new Set(results.map((each) => each.file))]
  const suites = files.map((file) =>
    suite(
      file,
      results.filter((each) => each.file === file),
    ),
  )
  const failed = results.filter(isFailed).length
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="${results.length}" failures="${failed}">\n${suites.join('')}</testsuites>\n`
}

function suite(file: string, results: readonly CaseResult[]): string {
  const failed = results.filter(isFailed).length
  const cases = results.map((each) => `    ${testCase(each)}\n`).join('')
  return `  <testsuite name="${escape(file)}" tests="${results.length}" failures="${failed}">\n${cases}  </testsuite>\n`
}

function testCase(result: CaseResult): string {
  const head = `<testcase classname="${escape(result.file)}" name="${escape(result.name)}"`
  if (!isFailed(result)) return `${head}/>`
  const lines = result.differences.map(
    ({ subject, expected, actual }) => `${subject}: expected ${expected}, got ${actual}`,
  )
  return `${head}><failure message="${escape(lines[0] ?? '')}">${escape(lines.join('\n'))}</failure></testcase>`
}

function isFailed({ differences }: CaseResult): boolean {
  return differences.length > 0
}

/** Escapes markup, because names come from files. Characters that XML does not allow are removed. */
function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
}

const POLICY = /\.policy\.(?:json|ya?ml)$/i
const POLICY_SETS = /\.cedar$/i
const SCHEMAS = /\.cedarschema$/i
const CASES = /\.cases\.(?:json|ya?ml)$/i

/** Runs `policy test` without an authority, before a policy is signed. */
export async function runBoundaryPolicyTest(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style, now } = context
  const folder = args.required('dir')
  const names: readonly string[] = await readdir(resolve(cwd, folder)).catch((error: unknown) => {
    throw toFailure(error, folder, 'read')
  })
  const load = (pattern: RegExp): Promise<SourceFile[]> =>
    Promise.all(
      names
        .filter((name) => pattern.test(name))
        .sort()
        .map(async (name) => ({ name, content: await loadStructured(cwd, join(folder, name)) })),
    )
  const [policies, cases] = [await load(POLICY), await load(CASES)]
  if (policies.length === 0 || cases.length === 0)
    throw new CommandError({
      code: 'nothing_to_test',
      message: `${folder} contains ${policies.length} policies and ${cases.length} files with cases.`,
      hint: 'Policies end in .policy.yaml or .policy.json, cases in .cases.yaml or .cases.json: see chancery policy new.',
    })
  const read = (pattern: RegExp): Promise<string[]> =>
    Promise.all(names.filter((name) => pattern.test(name)).map((name) => readText(resolve(cwd, folder, name))))
  const texts = { policySets: await read(POLICY_SETS), schemas: await read(SCHEMAS) }
  const report = await withCedar((cedar) => runPolicyTests({ policies, cases, texts, cedar, now: now() }))
  const junit = options.text('junit')
  if (junit !== undefined) await replaceFile(resolve(cwd, junit), junitXml(report), FOR_ALL)
  const failed = report.results.filter((each) => each.differences.length > 0).length
  const isCovered = report.unreached.length === 0 || !options.isSet('require-coverage')
  return {
    data: toData(report, failed),
    text: describe(report, failed, style),
    exitCode: failed === 0 && isCovered ? 0 : 1,
  }
}

function toData(
  { results, gates, unreached, neverFailed, warnings }: TestReport,
  failed: number,
): NonNullable<Result['data']> {
  return {
    passed: results.length - failed,
    failed,
    cases: results.map(({ file, name, differences }) => ({
      file,
      name,
      passed: differences.length === 0,
      differences: differences.map((each) => ({ ...each })),
    })),
    coverage: { gates: gates.length, unreached: [...unreached], never_failed: [...neverFailed] },
    warnings: warnings.map((each) => ({ ...each })),
  }
}

function describe(
  { results, gates, unreached, neverFailed, warnings }: TestReport,
  failed: number,
  style: Style,
): string {
  const lines = results.map((each) => describeCase(each, style))
  for (const { policy_id, message } of warnings)
    lines.push(`${style.warn('Warning:')} ${visible(policy_id)}: ${visible(message)}`)
  const sum = `${results.length - failed} passed, ${failed} failed`
  lines.push('', failed === 0 ? style.good(sum) : style.bad(sum))
  lines.push(`Gates reached by a case: ${gates.length - unreached.length} of ${gates.length}`)
  for (const gate of unreached) lines.push(`  no case reaches ${visible(gate)}`)
  for (const gate of neverFailed) lines.push(style.quiet(`  no case sees ${visible(gate)} fail`))
  return lines.join('\n')
}

function describeCase({ file, name, differences }: CaseResult, style: Style): string {
  const title = `${visible(file)}: ${visible(name)}`
  if (differences.length === 0) return `${style.good('ok')}      ${title}`
  const width = Math.max(...differences.map(({ subject }) => subject.length))
  const diff = differences.map(
    ({ subject, expected, actual }) =>
      `          ${visible(subject).padEnd(width)}  expected ${visible(expected)}, got ${visible(actual)}`,
  )
  return [`${style.bad('FAILED')}  ${title}`, ...diff].join('\n')
}
