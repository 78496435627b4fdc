import { type JsonObject, type JsonValue, isJsonObject, member } from '@chancery/protocol'
import type { PointRequest, PointResponse } from './decision-point.ts'

/** Levels of the certification scenario of AuthZEN 1.0 (openid/authzen, certification). */
export type Level =
  | 'Basic Core'
  | 'Basic Properties'
  | 'Batch Core'
  | 'Batch Properties'
  | 'Search Core'
  | 'Search Properties'
  | 'Discovery'

export type Route = 'evaluation' | 'evaluations'

export interface Check {
  /** Number of the section of the scenario. */
  readonly id: string
  readonly level: Level
  readonly title: string
  readonly route: Route
  readonly request: PointRequest
  /** Returns what is wrong, or undefined. */
  readonly judge: (response: PointResponse) => string | undefined
  /** The scenario lets vendors leave this check out until the text of the standard has the rule. */
  readonly advisory?: true
}

const alice = { type: 'user', id: 'alice' }
const bob = { type: 'user', id: 'bob' }
const admin = { ...bob, properties: { role: 'admin' } }
const record = (id: string, status?: string): JsonObject =>
  status === undefined ? { type: 'record', id } : { type: 'record', id, properties: { status } }
const first = record('record-1')
const archived = record('record-2', 'archived')
const [read, write] = [{ name: 'read' }, { name: 'write' }]
const remove = (soft: boolean): JsonObject => ({ name: 'delete', properties: { soft } })
const readFirst = { subject: alice, action: read, resource: first }

/** A 200 in JSON, with decisions of this value where one is given. */
function decides(expected?: boolean): Check['judge'] {
  return (response) => successProblem(response) ?? decisionProblem(response.body, expected)
}

function decideAll(expected: readonly (boolean | undefined)[]): Check['judge'] {
  return (response) => {
    const problem = successProblem(response)
    if (problem !== undefined) return problem
    const given = isJsonObject(response.body) ? member(response.body, 'evaluations') : undefined
    if (!Array.isArray(given)) return 'no array evaluations'
    const items = given as readonly JsonValue[]
    if (items.length !== expected.length) return `${items.length} evaluations, not ${expected.length}`
    const problems = items.map((each, at) => decisionProblem(each, expected[at]))
    const at = problems.findIndex((each) => each !== undefined)
    return at < 0 ? undefined : `evaluation ${at + 1}: ${problems[at] ?? ''}`
  }
}

function successProblem({ status, headers, body }: PointResponse): string | undefined {
  if (status !== 200) return `status ${status}, not 200`
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? '')) return 'the type is not application/json'
  return body === undefined ? 'the body is not JSON' : undefined
}

function decisionProblem(value: JsonValue | undefined, expected: boolean | undefined): string | undefined {
  const decision = isJsonObject(value) ? member(value, 'decision') : undefined
  const context = isJsonObject(value) ? member(value, 'context') : undefined
  if (typeof decision !== 'boolean') return 'no boolean decision'
  if (context !== undefined && !isJsonObject(context)) return 'context is not an object'
  return expected === undefined || decision === expected ? undefined : `decision ${decision}, not ${expected}`
}

const isRefused: Check['judge'] = ({ status }) => (status === 400 ? undefined : `status ${status}, not 400`)

/** The id that a check sends, and expects back. */
const REQUEST_ID = 'certify-1f0c'
const echoes: Check['judge'] = (response) =>
  decides(true)(response) ??
  (response.headers.get('x-request-id') === REQUEST_ID ? undefined : 'X-Request-ID did not come back')

type Row = readonly [id: string, title: string, body: JsonValue, judge: Check['judge'], more?: Partial<Check>]

function checks(level: Level, route: Route, rows: readonly Row[]): readonly Check[] {
  return rows.map(([id, title, body, judge, more]) => ({ id, level, title, route, request: { body }, judge, ...more }))
}

const without = (place: string, name?: string): JsonObject => {
  const { [place]: whole = {}, ...rest } = readFirst as JsonObject
  if (name === undefined || !isJsonObject(whole)) return rest
  const { [name]: _left, ...others } = whole
  return { ...rest, [place]: others }
}

const basicCore = checks('Basic Core', 'evaluation', [
  ['2.2.1', 'alice may read record-1', readFirst, decides(true)],
  ['1.4', 'alice may write record-1', { ...readFirst, action: write }, decides(true)],
  ['1.4', 'bob may read record-1', { ...readFirst, subject: bob }, decides(true)],
  ['2.2.2', 'bob may not write record-1', { subject: bob, action: write, resource: first }, decides(false)],
  ['2.2.3', 'a context is accepted', { ...readFirst, context: { ip: '192.0.2.1', time: 'noon' } }, decides(true)],
  [
    '2.2.8',
    'further properties are accepted',
    {
      subject: { ...alice, properties: { department: 'sales', role: 'manager' } },
      action: { ...read, properties: { method: 'GET' } },
      resource: { ...first, properties: { status: 'active', owner: 'bob' } },
    },
    decides(true),
  ],
  ['2.2.9', 'unknown members are ignored', { ...readFirst, unknown: { nested: true }, other: 'x' }, decides(true)],
  ...(['subject', 'action', 'resource'] as const).map((place): Row => [
    '2.4.1',
    `400 without ${place}`,
    without(place),
    isRefused,
  ]),
  ...(
    [
      ['subject', 'type'],
      ['subject', 'id'],
      ['action', 'name'],
      ['resource', 'type'],
      ['resource', 'id'],
    ] as const
  ).map(([place, name]): Row => ['2.4.2', `400 without ${place}.${name}`, without(place, name), isRefused]),
  [
    '2.4.3',
    '400 for another content type',
    readFirst,
    isRefused,
    { request: { body: readFirst, headers: { 'Content-Type': 'text/plain' } } },
  ],
  ['2.4.4', '400 for malformed JSON', null, isRefused, { request: { text: '{"subject":' } }],
  ['2.4.5', '400 for an empty body', null, isRefused, { request: { text: '' } }],
  ['2.4.6', '400 for a subject that is a text', { ...readFirst, subject: 'alice' }, isRefused],
  ['2.4.6', '400 for a name that is a number', { ...readFirst, action: { name: 123 } }, isRefused],
  [
    '2.5.1',
    'X-Request-ID comes back',
    readFirst,
    echoes,
    { request: { body: readFirst, headers: { 'X-Request-ID': REQUEST_ID } } },
  ],
  ['2.6', 'the same question has the same decision', readFirst, decides(true)],
])

const basicProperties = checks('Basic Properties', 'evaluation', [
  [
    '2.2.4',
    'alice may not write an archived record',
    { subject: alice, action: write, resource: archived },
    decides(false),
  ],
  ['2.2.5', 'an admin may write it', { subject: admin, action: write, resource: archived }, decides(true)],
  ['2.2.6', 'alice may delete softly', { ...readFirst, action: remove(true) }, decides(true)],
  ['2.2.7', 'alice may not delete for good', { ...readFirst, action: remove(false) }, decides(false)],
])

const batchCore = checks('Batch Core', 'evaluations', [
  [
    '3.2.1',
    'two questions have two answers',
    { subject: alice, action: read, evaluations: [{ resource: first }, { resource: record('record-2') }] },
    decideAll([undefined, undefined]),
  ],
  [
    '3.2.2',
    'answers are in the order of the questions',
    { subject: bob, resource: first, evaluations: [{ action: read }, { action: write }] },
    decideAll([true, false]),
  ],
  [
    '3.2.5',
    'questions without defaults',
    { evaluations: [readFirst, { subject: bob, action: write, resource: first }] },
    decideAll([true, false]),
  ],
  [
    '3.2.6',
    'a context is a default',
    {
      subject: alice,
      action: read,
      context: { time: 'noon' },
      evaluations: [{ resource: first }, { resource: record('record-2'), context: { source: 'own' } }],
    },
    decideAll([undefined, undefined]),
  ],
  [
    '3.4.1',
    'a faulty question is denied, the others are answered',
    { subject: alice, action: read, evaluations: [{ resource: first }, {}] },
    decideAll([true, false]),
  ],
  ['3.4.2', 'without evaluations it is the single form', readFirst, decides(true)],
  ['3.4.3', 'with empty evaluations, too', { ...readFirst, evaluations: [] }, decides(true)],
])

const batchProperties = checks('Batch Properties', 'evaluations', [
  [
    '3.2.3',
    'properties of each resource count',
    {
      subject: alice,
      action: write,
      evaluations: [{ resource: record('record-1', 'active') }, { resource: archived }],
    },
    decideAll([true, false]),
  ],
  [
    '3.2.4',
    'properties of each subject count',
    { action: write, resource: archived, evaluations: [{ subject: alice }, { subject: admin }] },
    decideAll([false, true]),
  ],
  [
    '3.2.7',
    'a missing type comes from the default',
    {
      subject: alice,
      action: write,
      resource: { type: 'record' },
      evaluations: [{ resource: { id: 'record-1', properties: { status: 'active' } } }, { resource: archived }],
    },
    decideAll([true, false]),
    { advisory: true },
  ],
])

/** Every check of the levels Basic and Batch. */
export const CHECKS: readonly Check[] = [...basicCore, ...basicProperties, ...batchCore, ...batchProperties]
