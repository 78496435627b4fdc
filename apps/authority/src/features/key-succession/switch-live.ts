import { setTimeout as pause } from 'node:timers/promises'
import { genesisDigest } from '@chancery/protocol'
import type { Reader } from '../../database/database.ts'
import { KeySuccessionError, type Succession } from '../crl/index.ts'
import { type SwitchStage, listInstances, newAttempt } from './follow-switch.job.ts'
import type { KeySuccessionParts } from './parts.ts'
import { switchKey } from './switch.ts'

const POLL_MS = 50
/** How long the instances have for each stage. Their jobs run every two seconds, and a job may take a while. */
const STAGE_MS: Readonly<Record<SwitchStage, number>> = { prepare: 75_000, pause: 10_000 }

/**
 * Switches while all instances run. Each of them must have the new key, and must wait at the moment of the switch:
 * otherwise nothing changes. Undefined when it was done before.
 */
export async function switchLive(
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
