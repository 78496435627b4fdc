import type { Feature } from '../../core.ts'
import { type FirstListKeys, KeySuccessionError, type Succession } from '../crl/index.ts'
import { describeSuccession, readCachedProgress, readProgress } from './progress.ts'
import type { KeySuccessionParts, SuccessionProgress } from './progress.ts'
import { type InstanceState, SwitchFollower, type SwitchStage, listInstances, newAttempt } from './follow-switch.job.ts'
import { switchKey } from './switch.ts'
import { genesisDigest, writeSortable } from '@chancery/protocol'
import { findSuccession } from '../../signing/newest-block.ts'
import { findLiveFormerKey } from '../../signing/stored-identity.ts'
import { countUsable, enterPhase, storeSuccession } from './queries.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { Reader } from '../../database/database.ts'

export { listLacking } from './queries.ts'
export { nextStep } from './progress.ts'
export type { SuccessionProgress } from './progress.ts'
export type { InstanceState } from './follow-switch.job.ts'

/**
 * Ends the list of the former key, and with it the succession. After that the succession cannot be undone, and the key
 * can be destroyed. Undefined when there was no list to end: the command was repeated, the list has expired, or the
 * succession was undone before the switch.
 */
async function retireKey(
  parts: KeySuccessionParts,
  { isForced }: { readonly isForced: boolean },
): Promise<string | undefined> {
  const { database, signing } = parts
  const now = parts.clock.now()
  return database.write(async (tx) => {
    await tx.lock('crl')
    const stored = await tx.query.selectFrom('authority_identity').select('public_key').executeTakeFirst()
    if (stored?.public_key !== signing.publicKey) throw new KeySuccessionError('the database belongs to another key')
    const live = await findLiveFormerKey(tx.query, now)
    if (live === undefined) {
      const phase = (await findSuccession(tx.query))?.phase
      if (phase === 'retired') return undefined
      if (phase !== 'switched') throw new KeySuccessionError('no former key signs a list any more')
      await enterPhase(tx, 'retired')
      await parts.audit.record(tx, { type: 'authority_key_retired', details: { certificates_in_use: 0 } })
      return undefined
    }
    const usable = await countUsable(database, tx.query, live.key_id, now)
    if (usable > 0 && !isForced)
      throw new KeySuccessionError(
        `${usable} certificates of ${live.key_id} are in use: they would be refused once its last list ends; wait, or --yes`,
      )
    await tx.query
      .updateTable('former_keys')
      .set({ lists_until: writeSortable(now) })
      .where('key_id', '=', live.key_id)
      .execute()
    // Instances that have cached its list read the row again.
    await tx.raiseVersion('crl')
    await enterPhase(tx, 'retired')
    await parts.audit.record(tx, {
      type: 'authority_key_retired',
      details: { former_key_id: live.key_id, certificates_in_use: usable },
    })
    return live.key_id
  })
}

interface Announcement {
  readonly keyId: string
  readonly digest: string
  /** False when the database already belongs to the announced key. Then only blocks change. */
  readonly needsSwitch: boolean
}

/**
 * Stores the block and the history of the root for followers, with the first list of the next key. It runs with the
 * settings of the next key. The signing key does not change. Repeating it renews the first list.
 */
async function announceKey(parts: KeySuccessionParts): Promise<Announcement> {
  const { database, keys, network, signing } = parts
  const { historyText } = keys
  if (historyText === undefined)
    throw new KeySuccessionError('NA_KEY_HISTORY_FILE: is required: followers verify the new key with the history')
  const stored = await database.read.selectFrom('authority_identity').selectAll().executeTakeFirst()
  if (stored === undefined) throw new KeySuccessionError('the database is empty: there is no key to replace')
  if (stored.network_name !== network.name)
    throw new KeySuccessionError(`the database belongs to network ${stored.network_name}`)
  const isStored = stored.public_key === signing.publicKey
  const present = keys.former.find((key) => key.public_key === stored.public_key)
  if (!isStored && present === undefined)
    throw new KeySuccessionError(
      'the key history does not name the key the database belongs to: nodes would not follow',
    )
  const firstList = isStored ? null : await parts.crl.draftFirstList(firstListKeys(parts))
  const digest = genesisDigest(network.genesis)
  await database.write(async (tx) => {
    await storeSuccession(tx, {
      key_id: signing.keyId,
      genesis_digest: digest,
      genesis_json: network.genesisText,
      history_json: historyText,
      first_list_json: firstList,
      phase: isStored ? 'switched' : 'announced',
      announced_at: writeSortable(parts.clock.now()),
      switched_at: null,
      switch_stage: null,
      first_list_at: writeSortable(parts.clock.now()),
    })
    // The list of the announced key is served at its own address.
    await tx.raiseVersion('crl')
    await parts.audit.record(tx, {
      type: 'authority_key_announced',
      details: { new_key_id: signing.keyId, genesis_digest: digest },
    })
  })
  return { keyId: signing.keyId, digest, needsSwitch: !isStored }
}

/** Before the switch the next key signs as the current one of this command, and the present one is its former key. */
export function firstListKeys({ signing, keys }: Pick<KeySuccessionParts, 'signing' | 'keys'>): FirstListKeys {
  return { issuer: signing.signer, presentKeyId: keys.formerSigner?.keyId ?? '' }
}

const POLL_MS = 50
/** How long the instances have for each stage. Their jobs run every two seconds, and a job may take a while. */
const STAGE_MS: Readonly<Record<SwitchStage, number>> = { prepare: 75_000, pause: 10_000 }

/**
 * Switches while all instances run. Each of them must have the new key, and must wait at the moment of the switch:
 * otherwise nothing changes. Undefined when it was done before.
 */
async function switchLive(
  parts: KeySuccessionParts,
  { isForced }: { readonly isForced: boolean },
): Promise<Succession | undefined> {
  await requireKeyEverywhere(parts)
  const attempt = newAttempt()
  try {
    await reach(parts, 'prepare', attempt)
    await reach(parts, 'pause', attempt)
    return await switchKey(parts, { isForced }, (tx) => requireStage(parts, tx, `pause ${attempt}`))
  } finally {
    // The instances go on. After the switch the stage is empty.
    await setStage(parts, null)
  }
}

/** Instances that lack the next key would refuse to sign after the switch. */
async function requireKeyEverywhere(parts: KeySuccessionParts): Promise<void> {
  const digest = genesisDigest(parts.network.genesis)
  const lacking = (await listInstances(parts.database.read, parts)).filter(({ next_block }) => next_block !== digest)
  if (lacking.length === 0) return
  const names = lacking.map(({ instance }) => instance).join(', ')
  throw new KeySuccessionError(
    `these instances do not have the key ${parts.signing.keyId}, or stopped less than three minutes ago: ${names}`,
  )
}

async function reach(parts: KeySuccessionParts, stage: SwitchStage, attempt: string): Promise<void> {
  const text = `${stage} ${attempt}`
  await setStage(parts, text)
  const end = performance.now() + STAGE_MS[stage]
  for (;;) {
    const late = await findLate(parts, parts.database.read, text)
    if (late.length === 0) return
    if (performance.now() > end)
      throw new KeySuccessionError(
        `these instances did not come to the stage ${stage}, or ended less than three minutes ago: ${late.join(', ')}; try again`,
      )
    await pause(POLL_MS)
  }
}

async function requireStage(parts: KeySuccessionParts, db: Reader, text: string): Promise<void> {
  const late = await findLate(parts, db, text)
  if (late.length > 0)
    throw new KeySuccessionError(`these instances went on before the switch: ${late.join(', ')}; try again`)
}

async function findLate(parts: KeySuccessionParts, db: Reader, text: string): Promise<readonly string[]> {
  const instances = await listInstances(db, parts)
  return instances.filter(({ switch_stage }) => switch_stage !== text).map(({ instance }) => instance)
}

async function setStage({ database }: KeySuccessionParts, switch_stage: string | null): Promise<void> {
  await database.write((tx) =>
    tx.query.updateTable('key_succession').set({ switch_stage }).where('id', '=', 1).execute(),
  )
}

export interface KeySuccession extends Feature {
  /** Called before this instance serves. */
  enter(): Promise<void>
  announceKey(): Promise<Announcement>
  switchKey(options: { readonly isForced: boolean }): Promise<Succession | undefined>
  switchLive(options: { readonly isForced: boolean }): Promise<Succession | undefined>
  listInstances(): Promise<readonly InstanceState[]>
  retireKey(options: { readonly isForced: boolean }): Promise<string | undefined>
  describeSuccession(options?: { readonly isFull?: boolean }): Promise<SuccessionProgress>
  readProgress(): Promise<SuccessionProgress>
  readCachedProgress(): Promise<SuccessionProgress | undefined>
}

export function openKeySuccession(parts: KeySuccessionParts): KeySuccession {
  const follower = new SwitchFollower(parts)
  return {
    routes: [],
    // In each worker: the metrics of a large network show the last count of the process that answers.
    jobs: [
      { name: 'succession-progress', everySeconds: 30, run: async () => void (await readProgress(parts)) },
      { name: 'key-owner-check', everySeconds: 2, run: (signal) => follower.run(signal) },
    ],
    enter: () => follower.enter(),
    announceKey: () => announceKey(parts),
    switchKey: (options) => switchKey(parts, options),
    switchLive: (options) => switchLive(parts, options),
    listInstances: () => listInstances(parts.database.read, parts),
    retireKey: (options) => retireKey(parts, options),
    describeSuccession: (options) => describeSuccession(parts, options),
    readProgress: () => readProgress(parts),
    readCachedProgress: () => readCachedProgress(parts),
    close: () => Promise.resolve(),
  }
}
