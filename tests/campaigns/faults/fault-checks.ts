import { setTimeout as pause } from 'node:timers/promises'
import { commands } from '@chancery/authority'
import { checkEnrollment } from '../enrollment/checks.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { openRows, type Row, type Rows, text } from '../lib/rows.ts'
import type { CheckedInstances, FaultInstances } from './fault-instances.ts'
import { FaultRecorder } from './fault-recorder.ts'

/**
 * Checks promises 2, 3 and 4 (docs/operate/reliability.md) after a fault: acknowledged changes are stored, refused ones
 * are not, no change is stored in part, no sequence has a gap or two contents, and no spent nonce is accepted.
 */
export async function checkPromises(
  instances: CheckedInstances,
  recorder: FaultRecorder,
  rows: Rows,
  inspect: (instances: CheckedInstances) => Promise<string[]> = checkInspection,
): Promise<string[]> {
  const { publicKey } = instances.network.authority
  return [
    ...recorder.notes.violations.splice(0),
    ...(await recorder.acks.check(rows)),
    ...(await checkBooks(recorder, rows)),
    ...(await checkEnrollment(rows, { authorityKey: publicKey })),
    ...(await inspect(instances)),
    ...(await checkReplays(instances, recorder)),
    ...(await checkServedAlike(instances)),
  ]
}

/** All other acknowledged results. */
async function checkBooks(recorder: FaultRecorder, rows: Rows): Promise<string[]> {
  const ids = async (statement: string): Promise<Set<string>> =>
    new Set((await rows.query(statement)).map((row: Row) => text(row, 'id')))
  const policies = await ids('select policy_id as id from policy_versions')
  const attestations = await ids('select attestation_id as id from membership_attestations')
  const withdrawn = await ids("select attestation_id as id from membership_attestations where status = 'revoked'")
  const decisions = await ids("select decision_id as id from evidence_entries where entry_kind = 'decision'")
  const missing = (kind: string, acknowledged: ReadonlySet<string>, stored: ReadonlySet<string>): string[] =>
    [...acknowledged].filter((id) => !stored.has(id)).map((id) => `acknowledged ${kind} ${id} is gone`)
  return [
    ...missing('policy', recorder.policies, policies),
    ...missing('attestation', recorder.attestations, attestations),
    ...missing('withdrawal of attestation', recorder.withdrawn, withdrawn),
    ...missing('decision', recorder.decisions, decisions),
    ...[...recorder.refusedPolicies]
      .filter((id) => policies.has(id))
      .map((id) => `policy ${id} was refused for certain, and is there`),
  ]
}

/** Runs `chancery authority verify`: lists, feeds, policies, evidence chain and anchors. */
export async function checkInspection(instances: CheckedInstances): Promise<string[]> {
  const outcome = await commands.verifyDatabase({ flags: {}, envFile: instances.envFile })
  return outcome.ok ? outcome.problems.map((problem) => `verify-db: ${problem}`) : [`verify-db: ${outcome.message}`]
}

/** A spent nonce is refused by every instance. */
export async function checkReplays(instances: CheckedInstances, recorder: FaultRecorder): Promise<string[]> {
  const violations: string[] = []
  for (const call of recorder.spent)
    for (const [index, process] of instances.processes.entries()) {
      const answer = await process.as('standard')('GET', '/admin/policy/history', undefined, call)
      // 503 for timestamps before the floor that a recovery has set.
      if (answer.status !== 401 && answer.status !== 503)
        violations.push(`instance ${index + 1} answered ${answer.status} to the spent nonce ${call.nonce}`)
    }
  return violations
}

/** All instances serve the same list, feed and policy, byte for byte. */
async function checkServedAlike(instances: CheckedInstances): Promise<string[]> {
  const violations: string[] = []
  for (const path of ['/crl', '/sovereign-revocation-feed', '/policy']) {
    const answers = await Promise.all(instances.processes.map((process) => process.request('GET', path)))
    const texts = new Set(answers.map((answer) => `${answer.status} ${answer.text}`))
    if (texts.size !== 1 || answers[0]?.status !== 200)
      violations.push(`${path}: ${answers.map((answer) => answer.status).join(', ')}, ${texts.size} contents`)
  }
  return violations
}

/**
 * Setup of the cases of a fault campaign. It is replaced from time to time, because every list contains all entries.
 */
export interface FaultSetup {
  readonly instances: FaultInstances
  /** Direct connection to the database, without the proxies of the instances. */
  readonly databaseUrl: () => string
  /** Causes a fault under load and ends it; returns the violations it found itself. */
  breakAndMend(index: number, random: Random): Promise<readonly string[]>
  close(): Promise<void>
}

const CASES_PER_SETUP = 10
const READY_SECONDS = 20

/** Each case: load, a fault under load, load again, then the checks. */
export async function runFaultCases(
  options: CampaignOptions,
  openSetup: (random: Random) => Promise<FaultSetup>,
): Promise<CampaignResult> {
  const random = seededRandom(options.seed)
  let [violations, acked, unavailable, unknown] = [0, 0, 0, 0]
  for (let done = 0; done < options.count; done += CASES_PER_SETUP) {
    const setup = await openSetup(random)
    const recorder = new FaultRecorder(setup.instances, random)
    try {
      await recorder.open()
      for (let index = done; index < Math.min(done + CASES_PER_SETUP, options.count); index += 1) {
        const found = await runCase(setup, recorder, index, random)
        violations += found.length
        for (const sentence of found.slice(0, 20)) options.log(`violation: case ${index}: ${sentence}`)
      }
    } finally {
      await setup.close()
    }
    acked += recorder.acked
    unavailable += recorder.unavailable
    unknown += recorder.unknown
    const cases = Math.min(done + CASES_PER_SETUP, options.count)
    options.log(`${cases} cases, ${acked} acks, ${unavailable} refused, ${unknown} unknown, ${violations} violations`)
  }
  return { cases: options.count, violations }
}

async function runCase(
  setup: FaultSetup,
  recorder: FaultRecorder,
  index: number,
  random: Random,
): Promise<readonly string[]> {
  recorder.start()
  await pause(200 + random.below(400))
  const found = await setup.breakAndMend(index, random)
  const unready = await setup.instances.awaitReady(READY_SECONDS)
  await pause(200)
  await recorder.stop()
  const rows = await openRows({ settings: { DATABASE_URL: setup.databaseUrl() }, drop: () => Promise.resolve() })
  try {
    return [
      ...found,
      ...unready.map((each) => `instance ${each + 1} is not ready again after ${READY_SECONDS} s`),
      ...(await checkPromises(setup.instances, recorder, rows)),
    ]
  } finally {
    await rows.close()
  }
}
