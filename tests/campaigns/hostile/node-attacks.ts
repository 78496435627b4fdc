import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { runProgram } from '@chancery/cli'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { createTestDatabase, createTestNetwork, send, startAuthorityProcess } from '@chancery/testkit'
import type { AuthorityProcess, TestResponse } from '@chancery/testkit'
import { text as textOf } from '../lib/rows.ts'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { amountIntent, CEDAR_CAPABILITY, cedarIntent, isAllowed, isOk, joined, member, SLOW_RULES } from './members.ts'
import { post, type RawResponse } from './raw-requests.ts'
import { type AuthoritySetup, decider } from './setup.ts'

const RENEWALS_PER_HOUR = 6

const renewals: Attack<AuthoritySetup> = {
  name: 'renewals in a loop',
  async run(setup, from, random) {
    const { node, certId } = await joined(setup, from)
    let [current, renewed] = [certId, 0]
    const answers: RawResponse[] = []
    for (let turn = 0; turn < 3 + random.below(7); turn += 1) {
      const body = writeJson(await node.prove({ cert_id: current }))
      const answer = await post({ url: setup.url, from }, { path: '/renew', body })
      answers.push(answer)
      if (answer.status < 200 || answer.status > 299) continue
      renewed += 1
      current = /"cert_id":"([^"]+)"/.exec(answer.text)?.[1] ?? current
    }
    return outcomeOf(answers, renewed > RENEWALS_PER_HOUR ? [`${renewed} renewals of one key`] : [])
  },
}

/** Before the end of the grace of a renewal both certificates live. */
const relatives: Attack<AuthoritySetup> = {
  name: 'certificates before and after a revoked one',
  async run(setup, from, random) {
    const { url } = setup
    const { node, certId, ask } = await member(setup, from)
    const call = async (path: string, cert_id: string): Promise<RawResponse> =>
      post({ url, from }, { path, body: writeJson(await node.prove({ cert_id })) })
    const renewed = await call('/renew', certId)
    const second = /"cert_id":"([^"]+)"/.exec(renewed.text)?.[1] ?? ''
    setup.revocations += 1
    const body = { cert_id: random.pick([certId, second, second]), reason: 'cessation_of_operation' }
    const all = random.chance(30) ? { all_of_key: true } : {}
    const revoked = await setup.authority.as('privileged')('POST', '/admin/revoke', { ...body, ...all }, { from })
    const [beats, more] = [
      [await call('/heartbeat', certId), await call('/heartbeat', second)],
      [await call('/renew', certId), await call('/renew', second)],
    ]
    const decisions = [await ask('ledger.read'), await ask('ledger.read', {}, second)]
    const complaints = [...beats, ...more].some(isOk) ? ['a certificate of a revoked key goes on'] : []
    if (decisions.some(isAllowed)) complaints.push('a revoked node got an allowed decision')
    if (!isOk(renewed)) complaints.push(`the renewal was answered with ${renewed.status}`)
    if (revoked.status !== 200) complaints.push(`the revocation was answered with ${revoked.status}`)
    return outcomeOf([renewed, ...beats, ...more, ...decisions], complaints)
  },
}

export const NODE_ATTACKS = [renewals, relatives, relatives] as const

/** An authority of two workers, which gathers heartbeats. */
interface WorkersStage {
  readonly backend: 'postgres'
  readonly url: string
  readonly authority: AuthorityProcess
  stop(): Promise<void>
}

export async function openWorkers(): Promise<WorkersStage> {
  const [network, database] = [await createTestNetwork('HOSTILE-WORKERS'), await createTestDatabase('postgres')]
  const gathered = { NA_WORKERS: '2', NA_HEARTBEAT_MODE: 'gathered', RATE_LIMIT_STORE: 'database' }
  const authority = await startAuthorityProcess({ network, settings: { ...database.settings, ...gathered } })
  return {
    backend: 'postgres',
    url: authority.url,
    authority,
    async stop() {
      await authority.stop()
      await database.drop()
      await network.remove()
    },
  }
}

/** Each of the connections goes to either worker. */
const sameHeartbeat: Attack<WorkersStage> = {
  name: 'one heartbeat to two workers',
  async run(stage, from, random) {
    const { node, certId } = await joined(stage, from)
    const body = writeJson(await node.prove({ cert_id: certId }))
    const beat = () => post({ url: stage.url, from }, { path: '/heartbeat', body })
    const answers = await Promise.all(Array.from({ length: 4 + random.below(12) }, beat))
    answers.push(await beat())
    const times = answers.filter(isOk).length
    return outcomeOf(answers, times === 1 ? [] : [`one heartbeat was accepted ${times} times`])
  },
}

export const WORKER_ATTACKS: readonly [Attack<WorkersStage>] = [sameHeartbeat]

/** A decision and a policy wait for no simulation; on a busy machine both take long alone, too. */
const QUICK_MS = 3000
const TIMES_ALONE = 4

const slowPolicies: Attack<AuthoritySetup> = {
  name: 'simulations of slow policies',
  async run(setup, from, random) {
    const { authority, rotator } = setup
    const [standard, privileged] = [await decider(setup, random), authority.as('privileged')]
    const contexts = Array.from({ length: 1 + random.below(4) }, (_, n) => ({
      requested_capability: CEDAR_CAPABILITY,
      requester_sovereign_id: 'x',
      request_parameters: { id: 'x', s: 'a'.repeat(15_800 - n) },
    }))
    const asked = {
      attestation_id: rotator,
      requested_capability: CEDAR_CAPABILITY,
      context: { request_parameters: { id: 'x' } },
    }
    const both = (): Promise<readonly [TestResponse, TestResponse]> =>
      Promise.all([
        standard('POST', '/admin/boundary/evaluate', asked, { from }),
        privileged('POST', '/admin/boundary-policies', amountIntent(`quick-${randomUUID()}`, 'x.y'), { from }),
      ])
    const begun = performance.now()
    const alone = await both()
    const limitMs = QUICK_MS + TIMES_ALONE * (performance.now() - begun)
    const slow = cedarIntent('slow', SLOW_RULES)
    const simulate = standard('POST', '/admin/boundary-policies/simulate', { intent: slow, contexts }, { from })
    const validate = standard('POST', '/admin/boundary-policies/validate', slow, { from })
    const began = performance.now()
    const [decided, published] = await both()
    const tookMs = Math.round(performance.now() - began)
    const complaints = isAllowed(decided) ? [] : [`a decision at the same time: ${decided.text.slice(0, 300)}`]
    if (!isOk(published)) complaints.push(`a policy at the same time was answered with ${published.status}`)
    if (tookMs > limitMs) complaints.push(`both took ${tookMs} ms, with a limit of ${Math.round(limitMs)} ms`)
    return outcomeOf([...alone, decided, published, await simulate, await validate], complaints)
  },
}

export const SLOW_ATTACKS = [slowPolicies] as const

/** Rows of one event type that one address may cause in a minute, and of two minutes at their border. */
const SHARE = 60

const junkHeartbeats: Attack<AuthoritySetup> = {
  name: 'junk heartbeats before a replay',
  async run(setup, from) {
    const { url, rows } = setup
    const { node, certId } = await joined(setup, from)
    const beat = (body: JsonObject): Promise<RawResponse> =>
      post({ url, from }, { path: '/heartbeat', body: writeJson(body) })
    const spent = await node.prove({ cert_id: certId })
    const first = await beat(spent)
    const junk = await Promise.all(
      Array.from({ length: SHARE + 30 }, async () => beat({ ...spent, nonce: randomUUID(), status: 'x' })),
    )
    const replay = await beat(spent)
    const found = await rows.query(
      `select event_json from audit_events where event_type = 'node_auth_failed' and event_json like '%"${from}"%'`,
    )
    const events = found.map((row) => textOf(row, 'event_json'))
    const complaints = [...junk, replay].some(isOk) ? ['junk was taken as a heartbeat'] : []
    if (!isOk(first)) complaints.push(`a heartbeat was answered with ${first.status}`)
    const replays = events.filter((event) => event.includes('nonce_replay')).length
    if (replays !== 1) complaints.push(`${replays} rows about one replay`)
    if (events.length - replays > 2 * SHARE) complaints.push(`${events.length} rows about one address`)
    if (events.length - replays === 0) complaints.push('no row about junk')
    return outcomeOf([first, ...junk, replay], complaints)
  },
}

const hostNames: Attack<AuthoritySetup> = {
  name: 'names of another host',
  async run({ url }, from, random) {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
    const path = random.pick(['/sovereign.json', '/swagger.json', '/', '/surfaces', '/.well-known/chancery.json'])
    const answer = await send(url, 'GET', path, { from, headers })
    return outcomeOf([answer], answer.text.includes('evil.example') ? [`${path} names the host of the caller`] : [])
  },
}

const unknownFilters: Attack<AuthoritySetup> = {
  name: 'unknown filters',
  async run({ authority }, from, random) {
    const open = [
      '/attestations',
      '/recognition-treaties',
      '/connectome.json',
      '/recognition-graph',
      '/admin/audit',
    ] as const
    const path = random.pick([...open, '/admin/invites', '/admin/evidence', '/admin/nodes'])
    const target = `${path}?${random.pick(['subject_idd', 'statuss', 'x', 'LIMIT'])}=1`
    // The list of attestations is public, and ignores unknown names for operators only.
    const answer =
      path === '/attestations'
        ? await authority.request('GET', target, { from })
        : await authority.as('standard')('GET', target, undefined, { from })
    const isRefused = answer.status === 400 && answer.text.includes('"unexpected_field"')
    return outcomeOf([answer], isRefused ? [] : [`${target} was answered with ${answer.status}`])
  },
}

const emptyPolicies: Attack<AuthoritySetup> = {
  name: 'empty policies',
  async run({ authority }, from) {
    const active = (): Promise<RawResponse> => authority.request('GET', '/policy', { from })
    const before = await active()
    const answer = await authority.as('privileged')('POST', '/admin/policy', {}, { from })
    const complaints = answer.status === 400 ? [] : [`an empty policy was answered with ${answer.status}`]
    if ((await active()).text !== before.text) complaints.push('an empty policy is active')
    return outcomeOf([before, answer], complaints)
  },
}

/** A command that is configured for one network and reaches another one. */
const otherNetwork: Attack<AuthoritySetup> = {
  name: 'another network at the address',
  async run({ home }, _from, random) {
    const words = random.pick([
      ['node', 'list'],
      ['policy', 'show', 'network'],
      ['evidence', 'list'],
      ['invite', 'create'],
    ])
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    stdin.end()
    const code = await runProgram([...words, '--home', 'elsewhere'], {
      stdin,
      stdout,
      stderr,
      env: {},
      cwd: home,
      userHome: home,
      now: () => systemClock.now(),
      random: () => 0.5,
      sleep: () => Promise.resolve(),
      stop: () => new AbortController().signal,
      prompts: { confirm: unexpected, text: unexpected, secret: unexpected },
    })
    const [out, error] = [stdout, stderr].map((stream) => (stream.read() as Buffer | null)?.toString() ?? '')
    const isRefused = code !== 0 && out === '' && (error ?? '').includes('another network')
    return outcomeOf([], isRefused ? [] : [`${words.join(' ')} ended with ${code}: ${out} ${error}`.slice(0, 400)])
  },
}

function unexpected(): Promise<never> {
  throw new Error('unexpected question')
}

export const ANSWER_ATTACKS = [junkHeartbeats, hostNames, unknownFilters, emptyPolicies, otherNetwork] as const
