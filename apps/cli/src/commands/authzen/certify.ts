import { type JsonObject, isJsonObject, member } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, plural, table, withProgress } from '../../output/screen.ts'
import type { Options } from '../../arguments/options.ts'
import { type DecisionPoint, type PointResponse, openDecisionPoint, pointError } from './decision-point.ts'
import { CHECKS, type Check, type Level, type Route } from './scenario.ts'

interface CheckResult {
  readonly [name: string]: string | null
  readonly id: string
  readonly level: Level
  readonly title: string
  /** `advisory`: not met, and the scenario lets vendors leave it out. */
  readonly result: 'passed' | 'failed' | 'advisory'
  readonly problem: string | null
}

interface LevelResult {
  readonly [name: string]: string | number
  readonly level: Level
  readonly result: 'passed' | 'failed' | 'not offered' | 'not tested'
  readonly passed: number
  readonly checks: number
  readonly remark: string
}

/** `gateway ask --scenario certification`. The exit code is 1 when a level failed; a level that is not offered does not count. */
export async function runCertify(context: CommandContext, options: Options): Promise<Result> {
  const point = await openDecisionPoint(context, options)
  const metadata = await point.metadata()
  const known = metadata.status === 200 && isJsonObject(metadata.body) ? metadata.body : undefined
  const results = await withProgress(context, `Asking ${point.identifier}`, () => runChecks(point, known))
  const checks = [...results, ...discoveryChecks(metadata, point)]
  const levels = toLevels(checks, known)
  const isGood = levels.every(({ result }) => result !== 'failed')
  const wrong = checks.filter(({ result }) => result !== 'passed')
  const text = [
    table(
      ['LEVEL', 'RESULT', 'CHECKS', 'REMARK'],
      levels.map(({ level, result, passed, checks: all, remark }) => [
        level,
        result,
        all === 0 ? '-' : `${passed} of ${all}`,
        remark,
      ]),
      context.style,
    ),
    ...wrong.map(({ id, level, title, result, problem }) => `${result}: ${level} ${id} ${title}: ${problem ?? ''}`),
    isGood ? context.style.good('No level failed.') : context.style.bad('At least one level failed.'),
  ].join('\n')
  return { data: { policy_decision_point: point.identifier, levels, checks }, text, exitCode: isGood ? 0 : 1 }
}

const DEFAULT_PATHS: Readonly<Record<Route, string>> = {
  evaluation: '/access/v1/evaluation',
  evaluations: '/access/v1/evaluations',
}

/** One after the other: a decision point may limit how much it is asked. */
async function runChecks(point: DecisionPoint, metadata: JsonObject | undefined): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  for (const check of CHECKS) {
    const url = addressOf(check.route, point, metadata)
    if (url === undefined) continue
    const response = await point.post(url, check.request)
    if (response.status === 401 || response.status === 403)
      throw pointError(
        `The decision point answered ${response.status}.`,
        'Give --token-file with a credential that may ask.',
      )
    if (response.status === 429)
      throw pointError('The decision point answered 429: its quota is used up.', 'Wait a minute, or raise the quota.')
    results.push(toResult(check, check.judge(response)))
  }
  return results
}

/** Without metadata the usual paths. With metadata a route that it does not name is not offered. */
function addressOf(route: Route, { identifier }: DecisionPoint, metadata: JsonObject | undefined): string | undefined {
  if (metadata === undefined) return `${identifier}${DEFAULT_PATHS[route]}`
  const given = member(metadata, `access_${route}_endpoint`)
  return typeof given === 'string' && URL.canParse(given) ? given : undefined
}

function toResult(check: Pick<Check, 'id' | 'level' | 'title' | 'advisory'>, problem: string | undefined): CheckResult {
  const { id, level, title } = check
  const failed = check.advisory === true ? 'advisory' : 'failed'
  return { id, level, title, result: problem === undefined ? 'passed' : failed, problem: problem ?? null }
}

const ENDPOINTS = [
  'access_evaluation_endpoint',
  'access_evaluations_endpoint',
  'search_subject_endpoint',
  'search_resource_endpoint',
  'search_action_endpoint',
] as const

function discoveryChecks({ status, headers, body }: PointResponse, point: DecisionPoint): readonly CheckResult[] {
  const found = isJsonObject(body) ? body : {}
  const isJson = /^application\/json\b/i.test(headers.get('content-type') ?? '')
  const named = member(found, 'policy_decision_point')
  const bad = ENDPOINTS.filter((name) => !isAddress(member(found, name), name === 'access_evaluation_endpoint', point))
  const list = member(found, 'capabilities')
  const isList = list === undefined || (Array.isArray(list) && list.every((each) => typeof each === 'string'))
  const rows = [
    ['6.2', 'metadata is a 200 in JSON', status === 200 && isJson && isJsonObject(body), `status ${status}`],
    ['6.3', 'it is about this identifier', named === point.identifier, 'policy_decision_point differs from --pdp'],
    ['6.5', 'its addresses are https', bad.length === 0, bad.join(', ')],
    ['6.5', 'capabilities are texts', isList, 'capabilities is not an array of texts'],
  ] as const
  return rows.map(([id, title, isGood, problem]) =>
    toResult({ id, level: 'Discovery', title }, isGood ? undefined : problem),
  )
}

/** On a point that is reached by http, which this command takes on this machine only, its addresses are http, too. */
function isAddress(value: unknown, required: boolean, { identifier }: DecisionPoint): boolean {
  if (value === undefined) return !required
  return (
    typeof value === 'string' &&
    URL.canParse(value) &&
    value.startsWith(identifier.slice(0, identifier.indexOf('/') + 2))
  )
}

/** A level also needs the one that it builds on. */
const NEEDS: Partial<Readonly<Record<Level, Level>>> = {
  'Batch Core': 'Basic Core',
  'Batch Properties': 'Basic Properties',
}

const LEVELS: readonly Level[] = [
  'Basic Core',
  'Basic Properties',
  'Batch Core',
  'Batch Properties',
  'Search Core',
  'Search Properties',
  'Discovery',
]

function toLevels(results: readonly CheckResult[], metadata: JsonObject | undefined): readonly LevelResult[] {
  const done = new Map<Level, LevelResult>()
  for (const level of LEVELS) done.set(level, toLevel(level, results, metadata, done))
  return [...done.values()]
}

function toLevel(
  level: Level,
  results: readonly CheckResult[],
  metadata: JsonObject | undefined,
  done: ReadonlyMap<Level, LevelResult>,
): LevelResult {
  const own = results.filter((each) => each.level === level)
  const passed = own.filter(({ result }) => result === 'passed').length
  const facts = { level, passed, checks: own.length }
  if (level.startsWith('Search')) {
    const isOffered = ENDPOINTS.some((name) => name.startsWith('search') && member(metadata ?? {}, name) !== undefined)
    return { ...facts, result: isOffered ? 'not tested' : 'not offered', remark: 'this command does not ask for it' }
  }
  if (own.length === 0) return { ...facts, result: 'not offered', remark: 'the metadata does not name it' }
  const needed = NEEDS[level]
  if (needed !== undefined && done.get(needed)?.result === 'failed')
    return { ...facts, result: 'failed', remark: `needs ${needed}` }
  const advisory = own.filter(({ result }) => result === 'advisory').length
  const remark = advisory === 0 ? '' : `${plural(advisory, 'advisory check')} not met`
  return { ...facts, result: own.some(({ result }) => result === 'failed') ? 'failed' : 'passed', remark }
}
