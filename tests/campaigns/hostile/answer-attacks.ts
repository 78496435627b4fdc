import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { runProgram } from '@chancery/cli'
import { type JsonObject, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { send } from '@chancery/testkit'
import { type Attack, outcomeOf } from './authority-attacks.ts'
import { isOk, joined } from './members.ts'
import type { AuthoritySetup } from './setup.ts'
import { type RawResponse, post } from './raw-requests.ts'
import { text as textOf } from '../lib/rows.ts'

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
    const words = random.pick([['nodes'], ['network-policy', 'show'], ['evidence', 'count'], ['invite']])
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    stdin.end()
    const code = await runProgram([...words, '--config', 'elsewhere.toml'], {
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
