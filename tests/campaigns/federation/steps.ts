import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import { accepted, testSigner } from '@chancery/testkit'
import { CAPABILITIES } from './decisions.ts'
import { importFeeds, type Scenario } from './scenario.ts'
import { instantIn, type Sovereign } from './sovereign.ts'

const ROLES = ['role:client', 'role:service', 'role:operator'] as const
const SUBJECTS = 6
/** What a treaty grants: exact, a pattern, both, and one that matches nothing. */
const GRANTS = [
  ['ledger.*'],
  ['ledger.*', 'cargo.track'],
  ['ledger.read'],
  ['cargo.track', 'ledger.write'],
  ['ledger', 'cargo.*'],
  ['other.*'],
]
const MOST_SUCCESSIONS = 8

export interface Step {
  readonly name: string
  /** Share of all steps. */
  readonly weight: number
  run(scenario: Scenario): Promise<void>
}

export const STEPS: readonly Step[] = [
  { name: 'attest', weight: 16, run: attest },
  { name: 'node revoke an attestation', weight: 9, run: revokeAttestation },
  { name: 'issue a treaty', weight: 12, run: issueTreaty },
  { name: 'node revoke a treaty', weight: 3, run: revokeTreaty },
  { name: 'add a partner', weight: 9, run: addPartner },
  { name: 'change a partner', weight: 5, run: changePartner },
  { name: 'remove a partner', weight: 1, run: removePartner },
  { name: 'pull', weight: 14, run: pull },
  { name: 'cut', weight: 5, run: changeLink },
  { name: 'restart', weight: 2, run: restart },
  { name: 'succession', weight: 1, run: succeed },
  { name: 'time passes', weight: 8, run: passTime },
  { name: 'import feeds of foreign networks', weight: 10, run: importFeeds },
]

/** Most pairs begin with a treaty and a pull, so that decisions have something to rest on. */
export async function prepare(scenario: Scenario): Promise<void> {
  for (const at of scenario.sovereigns) {
    for (let i = 0; i < 2; i += 1) await attestAt(scenario, at)
    for (const other of scenario.sovereigns) {
      if (other === at || scenario.random.chance(25)) continue
      await recognise(scenario, at, other)
      await register(scenario, at, other)
    }
  }
}

function someOf<Item>(scenario: Scenario, items: readonly Item[], percent: number): readonly Item[] {
  const some = items.filter(() => scenario.random.chance(percent))
  return some.length > 0 ? some : [scenario.pickOne(items)]
}

async function attest(scenario: Scenario): Promise<void> {
  await attestAt(scenario, scenario.pickOne(scenario.sovereigns))
}

async function attestAt(scenario: Scenario, issuer: Sovereign): Promise<void> {
  const subjectSeed = `member ${scenario.random.below(SUBJECTS)} of ${issuer.name}`
  const roles = scenario.random.chance(88) ? ['role:client'] : someOf(scenario, ROLES, 40)
  const capabilities = someOf(scenario, CAPABILITIES, 60)
  const record = accepted(
    await issuer.operate('POST', '/admin/attestations', {
      subject_id: subjectSeed,
      subject_public_key: (await testSigner('node', subjectSeed)).publicKey,
      roles,
      claims: { capabilities },
      validity_hours: scenario.random.pick([1, 24, 240, 240, 240]),
    }),
    201,
  )
  issuer.attestations.push({
    attestation_id: record['attestation_id'] as string,
    issuer: issuer.name,
    signedBy: issuer.key,
    roles,
    capabilities,
    ...windowOf(record),
    isRevoked: false,
    record,
    subjectSeed,
  })
}

async function revokeAttestation(scenario: Scenario): Promise<void> {
  const issuer = scenario.pickOne(scenario.sovereigns)
  const active = issuer.attestations.filter(({ isRevoked }) => !isRevoked)
  if (active.length === 0) return
  const one = scenario.pickOne(active)
  const path = `/admin/attestations/${one.attestation_id}/revoke`
  accepted(await issuer.operate('POST', path, { reason: 'left' }))
  one.isRevoked = true
  await scenario.checkFeed(issuer)
}

async function issueTreaty(scenario: Scenario): Promise<void> {
  await recognise(scenario, ...scenario.pickTwo())
}

/** With the key that signs now, sometimes also an earlier one, sometimes only that of a third party. */
async function recognise(scenario: Scenario, issuer: Sovereign, subject: Sovereign): Promise<void> {
  const { random } = scenario
  const key = random.chance(8) ? scenario.pickOne(scenario.sovereigns).key : subject.key
  const keys = [...new Set([key, ...(random.chance(30) ? subject.keys : [])])]
  const roles = random.chance(85) ? ['role:client', 'role:service'] : someOf(scenario, ROLES, 50)
  const capabilities = random.chance(12) ? undefined : scenario.pickOne(GRANTS)
  const record = accepted(
    await issuer.operate('POST', '/admin/recognition-treaties', {
      subject_sovereign_id: subject.name,
      subject_public_keys: keys,
      scope: { allowed_roles: roles, ...(capabilities === undefined ? {} : { claims: { capabilities } }) },
      validity_hours: random.pick([1, 24, 720, 720, 720]),
    }),
    201,
  )
  const window = windowOf(record)
  issuer.treaties.push({
    treaty_id: record['treaty_id'] as string,
    issuer: issuer.name,
    subject: subject.name,
    keys,
    roles,
    capabilities,
    issued_at: instantIn(record, 'issued_at'),
    ...window,
    isRevoked: false,
    record,
  })
}

async function revokeTreaty(scenario: Scenario): Promise<void> {
  const issuer = scenario.pickOne(scenario.sovereigns)
  const active = issuer.treaties.filter(({ isRevoked }) => !isRevoked)
  if (active.length === 0) return
  const one = scenario.pickOne(active)
  accepted(await issuer.operate('POST', `/admin/recognition-treaties/${one.treaty_id}/revoke`, { reason: 'ended' }))
  one.isRevoked = true
}

async function addPartner(scenario: Scenario): Promise<void> {
  const [at, other] = scenario.pickTwo()
  if (!at.partners.has(other.name)) await register(scenario, at, other)
}

async function register(scenario: Scenario, at: Sovereign, other: Sovereign): Promise<void> {
  const { random } = scenario
  const link = scenario.link(at, other)
  const partner = {
    importFeeds: random.chance(80),
    isPaused: false,
    interval: random.pick([60, 60, 300]),
    maxAge: maxAge(scenario),
  }
  const body = {
    url: link.url,
    sovereign_id: other.name,
    root_public_key: other.rootKey,
    allow_http: true,
    import_feeds: partner.importFeeds ? 'on' : 'off',
    interval_seconds: partner.interval,
    max_feed_age_seconds: partner.maxAge,
    defer: link.state !== 'open' || random.chance(20),
  }
  accepted(await at.operate('POST', '/admin/partners', body), 201)
  at.partners.set(other.name, partner)
  if (partner.importFeeds) at.mayHaveImported.add(other.name)
}

function maxAge(scenario: Scenario): number | null {
  return scenario.random.pick([null, null, null, 0, 120, 86_400])
}

async function changePartner(scenario: Scenario): Promise<void> {
  const [at, name] = somePartner(scenario)
  if (at === undefined) return
  const partner = at.partners.get(name)
  if (partner === undefined) return
  if (scenario.random.chance(40)) partner.isPaused = !partner.isPaused
  if (scenario.random.chance(30)) partner.importFeeds = !partner.importFeeds
  if (scenario.random.chance(40)) partner.maxAge = maxAge(scenario)
  const body = {
    paused: partner.isPaused,
    import_feeds: partner.importFeeds ? 'on' : 'off',
    max_feed_age_seconds: partner.maxAge,
  }
  if (partner.importFeeds) at.mayHaveImported.add(name)
  accepted(await at.operate('POST', `/admin/partners/${name}`, body))
}

async function removePartner(scenario: Scenario): Promise<void> {
  const [at, name] = somePartner(scenario)
  if (at === undefined) return
  accepted(await at.operate('POST', `/admin/partners/${name}/remove`, { reason: 'not needed' }))
  at.partners.delete(name)
}

function somePartner(scenario: Scenario): readonly [Sovereign | undefined, string] {
  const having = scenario.sovereigns.filter(({ partners }) => partners.size > 0)
  if (having.length === 0) return [undefined, '']
  const at = scenario.pickOne(having)
  return [at, scenario.pickOne([...at.partners.keys()])]
}

const FREE_WITHIN_MS = 20_000

/** An operator pulls. A good pull has brought everything that was published before it. */
async function pull(scenario: Scenario): Promise<void> {
  const [at, name] = somePartner(scenario)
  if (at === undefined) return
  await scenario.advance(11)
  const other = scenario.named(name)
  const { sequence } = await other.readFeed()
  const until = performance.now() + FREE_WITHIN_MS
  let answer = await at.operate('POST', `/admin/partners/${name}/pull`)
  // The job may pull the same partner at this moment.
  while (answer.status === 409 && performance.now() < until) {
    await pause(20)
    answer = await at.operate('POST', `/admin/partners/${name}/pull`)
    if (answer.status === 429) scenario.clock.advance(11)
  }
  const outcome = accepted(answer)['outcome'] as string
  const isGood = outcome === 'ok' || outcome === 'unchanged'
  if (isGood && at.partners.get(name)?.importFeeds === true)
    at.imported.set(name, Math.max(sequence, at.imported.get(name) ?? 0))
  const { state } = scenario.link(at, other)
  if (state === 'cut' && isGood) scenario.found.push(`${at.name} pulled ${name} without a network`)
  if (state === 'open' && !isGood) scenario.found.push(`${at.name} pulls ${name}: ${outcome}`)
}

/** Between two, or around one of them. */
async function changeLink(scenario: Scenario): Promise<void> {
  const { random } = scenario
  const [from, to] = scenario.pickTwo()
  const links = random.chance(30)
    ? scenario.sovereigns.filter((one) => one !== to).map((one) => scenario.link(one, to))
    : [scenario.link(from, to)]
  const state = random.pick(['open', 'cut', 'cut', 'breaking'] as const)
  for (const link of links) link.change(state, random)
}

async function restart(scenario: Scenario): Promise<void> {
  const one = scenario.pickOne(scenario.sovereigns)
  await one.stop()
  await one.start()
  scenario.reconnect(one)
}

async function succeed(scenario: Scenario): Promise<void> {
  const one = scenario.pickOne(scenario.sovereigns)
  if (one.keys.length > MOST_SUCCESSIONS) return
  // Two blocks of one second would have the same start.
  await scenario.advance(2)
  await one.succeed()
  scenario.reconnect(one)
  await scenario.checkFeed(one)
}

async function passTime(scenario: Scenario): Promise<void> {
  const { random } = scenario
  const seconds = random.pick([30, 30, 60, 60, 120, 120, 600, 600, 3600, 20_000])
  await scenario.advance(1 + random.below(seconds))
}

function windowOf(record: JsonObject): { readonly valid_from: bigint; readonly expires_at: bigint } {
  return { valid_from: instantIn(record, 'valid_from'), expires_at: instantIn(record, 'expires_at') }
}
