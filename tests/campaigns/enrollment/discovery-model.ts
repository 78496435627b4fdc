// oxlint-disable max-lines -- the model is read together with its campaign
import {
  DAY,
  draftAgentDescriptor,
  isJsonObject,
  seconds,
  seedSigner,
  sha256,
  signAgentDelete,
  signList,
  toBase64,
  toUtf8,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject, Signer } from '@chancery/protocol'
import { ManualClock, type TestAuthority, type TestResponse, startTestAuthority } from '@chancery/testkit'
import { purgeAgents } from '../../../apps/authority/src/features/agents/index.ts'
import { type CampaignOptions, type CampaignResult, conclude } from '../lib/campaign.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { type Rows, openRows, text } from '../lib/rows.ts'

export const summary =
  'random lives of agents (announce, delete, expire, purge, replay) on two instances against a model'
export const defaultCount = 10_000

/** Number of agents that run side by side under one clock. One address may have at most half of the 256 slots. */
const GROUP = 100
const STEPS = 10
const TOLERANCE = seconds(300)
const TAGS = ['model:a', 'model:b', 'model:c', 'model:d'] as const

interface Act {
  readonly kind: 'register' | 'delete'
  /** registered_at or signed_at. */
  readonly at: Instant
  readonly expires: Instant
  readonly name: string
  readonly tags: readonly string[]
  readonly body: JsonObject
}

/** State of one key by protocol/core 13. The model never deletes anything. */
interface State {
  readonly newest: Instant | undefined
  readonly deleted: Instant | undefined
  /** The registration, unless it was deleted. */
  readonly current: Act | undefined
}

/** Response to an action, and the state after it. */
function apply(state: State, act: Act, now: Instant): { readonly answer: string; readonly state: State } {
  const refuse = (answer: string): { answer: string; state: State } => ({ answer, state })
  if (act.kind === 'register') {
    if (act.at - TOLERANCE > now || now > act.expires) return refuse('400 descriptor_expired')
    if (state.newest !== undefined && act.at < state.newest) return refuse('400 descriptor_expired')
    if (state.deleted !== undefined && act.at <= state.deleted) return refuse('400 descriptor_expired')
    return { answer: '200', state: { ...state, newest: act.at, current: act } }
  }
  if (now - act.at > TOLERANCE || act.at - now > TOLERANCE) return refuse('401 signed_at_outside_window')
  if (state.current === undefined || state.current.expires <= now) return refuse('404 agent_not_registered')
  if (act.at < state.current.at) return refuse('401 signed_at_outside_window')
  return { answer: '200', state: { ...state, deleted: act.at, current: undefined } }
}

/** One key with every possible state. The order of two simultaneous actions is unknown. */
interface AgentModel {
  readonly signer: Signer
  readonly sent: Act[]
  states: readonly State[]
}

interface ModelRun {
  readonly instances: readonly [TestAuthority, TestAuthority]
  readonly clock: ManualClock
  readonly random: Random
  readonly rows: Rows
  readonly violations: string[]
  readonly answers: Map<string, number>
}

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(options.seed)
  const server = await startOwnServer()
  const database = await server.createDatabase()
  const clock = new ManualClock()
  const start = clock.now()
  const settings = { NA_CLOCK_CHECK: 'off' }
  const first = await startTestAuthority({ clock, database, settings })
  const second = await startTestAuthority({ clock, database, settings })
  const rows = await openRows(database)
  const instances = [first, second] as const
  const model: ModelRun = { instances, clock, random, rows, violations: [], answers: new Map() }
  try {
    for (let done = 0; done < options.count; done += GROUP) {
      const size = Math.min(GROUP, options.count - done)
      // Every group has separate keys, so it may begin at the time of the last one.
      clock.set(start)
      await runGroup(model, size)
      if ((done / GROUP) % 4 === 3) options.log(`${done + size} agents, ${model.violations.length} violations`)
    }
  } finally {
    await rows.close()
    await second.stop()
    await first.stop()
    await server.remove()
  }
  const answers = [...model.answers].map(([answer, count]) => `${answer}: ${count}`)
  for (const line of answers.sort((a, b) => (a < b ? -1 : 1))) options.log(line)
  return conclude(options.log, options.count, model.violations)
}

async function runGroup(model: ModelRun, size: number): Promise<void> {
  const { clock, random, instances } = model
  const agents: AgentModel[] = []
  for (let index = 0; index < size; index += 1) {
    const signer = await newSigner(random)
    agents.push({ signer, sent: [], states: [{ newest: undefined, deleted: undefined, current: undefined }] })
  }
  await seedCertificates(model, agents)
  for (let step = 0; step < STEPS; step += 1) {
    const plans: { agent: AgentModel; acts: Act[] }[] = []
    for (const agent of agents) {
      // Sometimes two actions on one key run at once.
      const acts: Act[] = []
      for (let left = random.chance(25) ? 2 : 1; left > 0; left -= 1)
        acts.push(await nextAct(agent, clock.now(), random))
      plans.push({ agent, acts })
    }
    await Promise.all(plans.map(({ agent, acts }) => perform(model, agent, acts)))
    await checkAnswers(model, agents)
    clock.advance(random.pick([0, 0.000_001, 1, 60, 299, 300, 301, 600, 600, 3600, 43_200, 86_400, 86_700]))
    if (random.chance(50)) await purgeAgents(random.pick(instances).parts, AbortSignal.timeout(60_000))
    await checkAnswers(model, agents)
  }
  await checkPostings(model)
}

/** Only the existence of the certificate matters, not its content. */
async function seedCertificates({ rows, clock }: ModelRun, agents: readonly AgentModel[]): Promise<void> {
  const items = agents.map(({ signer }) => ({
    cert_id: `model-${signer.publicKey}`,
    node_public_key: signer.publicKey,
    cert_json: '{}',
    roles_json: '[]',
    issued_at: writeSortable(clock.now() - DAY),
    expires_at: writeSortable(clock.now() + 30n * DAY),
    max_validity_hours: 744,
    status: 'issued',
  }))
  await rows.insert('issued_certs', items)
}

async function newSigner(random: Random): Promise<Signer> {
  const seed = toBase64(sha256(toUtf8(`discovery/${random.next()}/${random.next()}/${random.next()}`)))
  return seedSigner((await seedSigner('node', seed)).publicKey, seed)
}

/** Returns a new registration or delete dated about now, or repeats any earlier envelope. */
async function nextAct(agent: AgentModel, now: Instant, random: Random): Promise<Act> {
  const { signer, sent } = agent
  const [first, ...more] = sent
  if (first !== undefined && random.chance(40)) return random.pick([first, ...more])
  const around = random.pick([0n, 0n, 1n, -1n, seconds(1), -seconds(1), seconds(300), -seconds(300), -seconds(301)])
  const at = now + around
  const name = `act-${sent.length}`
  if (random.chance(30)) {
    const body = await signAgentDelete(writeInstant(at), signer)
    const act: Act = { kind: 'delete', at, expires: 0n, name, tags: [], body }
    sent.push(act)
    return act
  }
  const expires = at + random.pick([1n, seconds(1), seconds(600), seconds(600), seconds(3600), DAY])
  const tags = TAGS.filter(() => random.chance(50))
  const draft = draftAgentDescriptor({
    agent_id: name,
    node_public_key: signer.publicKey,
    network_name: 'TEST-NET',
    capabilities: tags,
    endpoint: { host: '198.51.100.7', port: 7448 },
    registered_at: writeInstant(at),
    expires_at: writeInstant(expires),
  })
  const act: Act = { kind: 'register', at, expires, name, tags, body: await signList(draft, signer) }
  sent.push(act)
  return act
}

async function perform(model: ModelRun, agent: AgentModel, acts: readonly Act[]): Promise<void> {
  const { instances, clock } = model
  const now = clock.now()
  const target = `/agents/${encodeURIComponent(agent.signer.publicKey)}`
  const answers = await Promise.all(
    acts.map(async (act, index) => {
      const na = instances[index % 2 === 0 ? 0 : 1]
      const { kind, body } = act
      const answer = await (kind === 'register'
        ? na.request('POST', '/agents', { body })
        : na.request('DELETE', target, { body }))
      const what = describeResponse(answer)
      model.answers.set(`${kind} ${what}`, (model.answers.get(`${kind} ${what}`) ?? 0) + 1)
      return what
    }),
  )
  const orders =
    acts.length === 2
      ? [
          [0, 1],
          [1, 0],
        ]
      : [[0]]
  const possible = agent.states.flatMap((state) => orders.flatMap((order) => follow(state, order, acts, answers, now)))
  if (possible.length === 0) {
    const reported = acts.map((act, index) => `${act.kind} ${act.name} at ${act.at - now}: ${answers[index] ?? ''}`)
    model.violations.push(`no order gives ${reported.join(', ')}; ${describeStates(agent.states, now)}`)
    return
  }
  agent.states = distinct(possible)
}

/** Returns the state after these actions in this order, if the responses match. */
function follow(
  state: State,
  order: readonly number[],
  acts: readonly Act[],
  answers: readonly string[],
  now: Instant,
): State[] {
  let reached = state
  for (const index of order) {
    const act = acts[index]
    if (act === undefined) return []
    const outcome = apply(reached, act, now)
    if (outcome.answer !== answers[index]) return []
    reached = outcome.state
  }
  return [reached]
}

function distinct(states: readonly State[]): State[] {
  return [
    ...new Map(
      states.map((state) => [`${state.newest ?? ''}/${state.deleted ?? ''}/${state.current?.name ?? ''}`, state]),
    ).values(),
  ]
}

function describeStates(states: readonly State[], now: Instant): string {
  return states
    .map(({ newest, deleted, current }) => {
      const since = (at: Instant | undefined): string => (at === undefined ? 'none' : String(at - now))
      return `newest ${since(newest)}, deleted ${since(deleted)}, registered ${current?.name ?? 'none'} until ${since(current?.expires)}`
    })
    .join(' or ')
}

function describeResponse(answer: TestResponse): string {
  const error = isJsonObject(answer.json) ? answer.json['error'] : undefined
  const code = isJsonObject(error) ? error['code'] : undefined
  return typeof code === 'string' ? `${answer.status} ${code}` : String(answer.status)
}

/** Checks that each instance shows a possible state of every key under each tag. */
async function checkAnswers(model: ModelRun, agents: readonly AgentModel[]): Promise<void> {
  const now = model.clock.now()
  const shown = await Promise.all(
    TAGS.map(async (tag, index) => {
      const answer = await model.instances[index % 2 === 0 ? 0 : 1].request('GET', `/agents?capability=${tag}`)
      const listed = isJsonObject(answer.json) ? answer.json['agents'] : undefined
      if (!Array.isArray(listed)) throw new Error(`GET /agents: ${answer.status} ${answer.text.slice(0, 200)}`)
      const found = listed as readonly JsonObject[]
      return new Map(found.map((agent) => [text(agent, 'node_public_key'), text(agent, 'agent_id')]))
    }),
  )
  for (const agent of agents) {
    const key = agent.signer.publicKey
    const seen = TAGS.map((_, index) => shown[index]?.get(key) ?? '')
    const fits = agent.states.filter(({ current }) => {
      const isAlive = current !== undefined && current.expires > now
      return TAGS.every((tag, index) => seen[index] === (isAlive && current.tags.includes(tag) ? current.name : ''))
    })
    if (fits.length === 0) {
      model.violations.push(`shown as ${JSON.stringify(seen)}; ${describeStates(agent.states, now)}`)
    } else agent.states = fits
  }
}

/** Checks that postings are those of the listed rows, and that counters match them. */
async function checkPostings({ rows, violations }: ModelRun): Promise<void> {
  const listed = await rows.query('select node_public_key, capabilities_json from agent_registrations where listed = 1')
  const expected = listed.flatMap((row) =>
    (JSON.parse(text(row, 'capabilities_json')) as string[]).map((tag) => `${tag} ${text(row, 'node_public_key')}`),
  )
  const postings = await rows.query('select capability, node_public_key from agent_capabilities')
  const found = new Set(postings.map((row) => `${text(row, 'capability')} ${text(row, 'node_public_key')}`))
  if (found.size !== expected.length || !expected.every((each) => found.has(each)))
    violations.push(`${found.size} postings where ${expected.length} belong`)
  const wrong = await rows.query(
    'select c.capability, c.agents from agent_capability_counts c where c.agents <> (select count(*) from agent_capabilities p where p.capability = c.capability)',
  )
  for (const row of wrong) violations.push(`the counter of ${text(row, 'capability')} is ${text(row, 'agents')}`)
}
