import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commands, readGatewaySettings } from '@chancery/gateway'
import { seconds } from '@chancery/protocol'
import { requireValues, systemClock } from '@chancery/service-kit'
import {
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'

export const summary =
  'random flips and cuts of a gateway state file: refused at the start, or nothing that counts was touched'
export const defaultCount = 300

const by = await testIssuer('agency')
const caller = testClient('caller', ['agency'])
const WITHDRAWN = Array.from({ length: 40 }, (_, n) => `withdrawn-${n}`)
const LISTED = Array.from({ length: 40 }, (_, n) => `listed-${n}`)

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const home = await mkdtemp(join(tmpdir(), 'chancery-gateway-damage-'))
  const violations: string[] = []
  let refused = 0
  try {
    const setup = await makeState(home)
    for (let turn = 0; turn < count; turn += 1) {
      const { bytes, what } = damage(setup.whole, random)
      await writeFile(setup.file, bytes, { mode: 0o600 })
      await rm(`${setup.file}-journal`, { force: true })
      const found = await tryStart(setup)
      if (found === 'refused') refused += 1
      else violations.push(...found.map((sentence) => `${what}: ${sentence}`))
      if (turn % 50 === 49) log(`${turn + 1} damaged files, ${refused} refused, ${violations.length} violations`)
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
  for (const violation of violations.slice(0, 20)) log(`violation: ${violation}`)
  log(`${refused} of ${count} refused; the others had lost nothing`)
  // Without any refusal, the campaign has not damaged a file.
  if (refused === 0) violations.push('no damage was detected')
  return { cases: count, violations: violations.length }
}

/** Half of the files are cut; in the others one to eight bytes are changed. */
function damage(whole: Buffer, random: Random): { readonly bytes: Buffer; readonly what: string } {
  if (random.chance(50)) {
    const end = random.below(whole.length)
    return { bytes: whole.subarray(0, end), what: `cut at ${end}` }
  }
  const bytes = Buffer.from(whole)
  const places = Array.from({ length: 1 + random.below(8) }, () => random.below(whole.length))
  for (const at of places) bytes[at] = (bytes[at] ?? 0) ^ (1 + random.below(255))
  return { bytes, what: `changed at ${places.join(', ')}` }
}

interface DamageSetup {
  readonly home: string
  readonly file: string
  readonly whole: Buffer
  readonly policy: ReturnType<typeof testPolicy>
  /** Every event of the undamaged state, as exported. */
  readonly exported: string
}

/** Creates state with a list, a set of withdrawn certificates and a chain of events. */
async function makeState(home: string): Promise<DamageSetup> {
  const entries = (ids: readonly string[]) => ids.map((certificate_id) => ({ certificate_id }))
  const first = await testList(by, systemClock.now(), {
    sequence: 1,
    issuedAgo: seconds(7200),
    entries: entries([...WITHDRAWN, ...LISTED]),
  })
  const second = await testList(by, systemClock.now(), {
    sequence: 2,
    issuedAgo: seconds(60),
    entries: entries(LISTED),
  })
  const old = testPolicy({ agency: testNetwork(by, first) }, [caller])
  const newer = testPolicy({ agency: testNetwork(by, second) }, [caller])
  const gateway = await startTestGateway({ policy: old, state: 'new', home })
  await gateway.reload(newer)
  for (let n = 0; n < 30; n += 1) await gateway.request('GET', '/v1/networks', { token: caller.token })
  await gateway.stop('keep')
  const file = join(home, 'gateway.state')
  const exported = await exportAll(home)
  return { home, file, whole: await readFile(file), policy: old, exported }
}

/** Starts on the damaged file: returns a refusal, or the records that are missing. */
async function tryStart(setup: DamageSetup): Promise<'refused' | string[]> {
  const { home, policy } = setup
  let exported: string
  let gateway
  try {
    exported = await exportAll(home)
    gateway = await startTestGateway({ policy, state: 'kept', home })
  } catch (error) {
    // Any error that is not explained to the operator counts as a crash.
    if (commands.expectedLines(error) === undefined) return [`the start fails with ${String(error)}`]
    return 'refused'
  }
  const found: string[] = []
  if (exported !== setup.exported) found.push('the audit events are not the same')
  const ids = [...WITHDRAWN, ...LISTED]
  const certificates = await Promise.all(ids.map((cert_id) => testCertificate(by, systemClock.now(), { cert_id })))
  const { body } = await gateway.request('POST', '/verify/batch', { token: caller.token, body: { certificates } })
  const results = body['results'] as unknown as { trusted: boolean }[]
  for (const [at, { trusted }] of results.entries()) if (trusted) found.push(`${ids[at]} is no longer refused`)
  await gateway.stop('keep')
  return found
}

async function exportAll(home: string): Promise<string> {
  const env = { GATEWAY_POLICY_FILE: join(home, 'policy.json'), GATEWAY_STATE_FILE: join(home, 'gateway.state') }
  let text = ''
  await commands.audit.export(requireValues(readGatewaySettings({ flags: {}, env })), async (lines) => {
    text += lines
  })
  return text
}
