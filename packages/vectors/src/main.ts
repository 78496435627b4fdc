#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { type CaseFile, type CaseResult, readCaseFiles, runCases } from './run-cases.ts'

const USAGE = `Usage: chancery-conformance [options] -- PROGRAM [ARGUMENT...]

Runs the test cases of the Chancery protocol against a program. See the README of @chancery/vectors.

  --group NAME    run only this group (may be given several times)
  --complete      a case that the program does not support counts as failed
  --json          write the results as JSON
  --list          list the groups and their number of cases
`
const SHOWN_FAILURES = 20

interface GroupResult {
  readonly group: string
  readonly passed: number
  readonly failed: number
  readonly unsupported: number
  readonly failures: readonly CaseResult[]
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      group: { type: 'string', multiple: true },
      complete: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return say(USAGE)
  const files = await readCaseFiles()
  if (values.list) return say(files.map(({ group, cases }) => `${group}: ${cases.length}\n`).join(''))
  const unknown = values.group?.find((name) => files.every(({ group }) => group !== name))
  if (unknown !== undefined) return refuse(`There is no group ${unknown}. See --list.\n`)
  if (positionals.length === 0) return refuse(USAGE)
  const chosen = files.filter(({ group }) => values.group?.includes(group) ?? true)
  const groups: GroupResult[] = []
  for (const file of chosen) groups.push(await runGroup(file, positionals, values.complete))
  say(values.json ? `${JSON.stringify({ groups }, undefined, 2)}\n` : describe(groups))
  return groups.some(({ failed }) => failed > 0) ? 1 : 0
}

async function runGroup(
  { group, cases }: CaseFile,
  command: readonly string[],
  isComplete: boolean,
): Promise<GroupResult> {
  const results = await runCases(cases, { command })
  const failures = results.filter(({ status }) => status === 'failed' || (isComplete && status === 'unsupported'))
  const unsupported = results.filter(({ status }) => status === 'unsupported').length
  const passed = results.filter(({ status }) => status === 'passed').length
  return { group, passed, failed: failures.length, unsupported, failures }
}

function describe(groups: readonly GroupResult[]): string {
  const lines = groups.map(
    ({ group, passed, failed, unsupported }) =>
      `${group.padEnd(12)} ${String(passed).padStart(5)} passed ${String(failed).padStart(5)} failed ${String(unsupported).padStart(5)} unsupported`,
  )
  const failures = groups.flatMap((each) => each.failures)
  for (const { id, detail } of failures.slice(0, SHOWN_FAILURES))
    lines.push(`failed: ${id}: ${detail ?? 'not supported'}`)
  if (failures.length > SHOWN_FAILURES) lines.push(`${failures.length - SHOWN_FAILURES} more; --json lists all`)
  const total = (name: 'passed' | 'failed'): number => groups.reduce((sum, each) => sum + each[name], 0)
  return `${[...lines, '', `${total('passed')} passed, ${total('failed')} failed`].join('\n')}\n`
}

function say(text: string): number {
  process.stdout.write(text)
  return 0
}

function refuse(text: string): number {
  process.stderr.write(text)
  return 2
}

process.exitCode = await main()
