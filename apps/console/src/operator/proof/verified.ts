import { at, read, readText } from '../client.ts'
import { readChoice, storeChoice } from '../choices.ts'
import { findPin } from '../pin.ts'

/** What this browser verified last. Digests only, so a store that was changed later is detected at the next visit. */
export interface Verified {
  readonly first: number
  readonly last: number
  readonly digest: string
  readonly at: string
  readonly ms: number
  readonly root: string | undefined
}

/** Each network has its own: two networks may have had the same address. */
const nameOf = (): string => `evidence.${findPin()?.fingerprint.slice(7, 23) ?? ''}`

export function findVerified(): Verified | undefined {
  const text = readChoice(nameOf())
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Verified
  } catch {
    return undefined
  }
}

export function storeVerified(verified: Verified): void {
  storeChoice(nameOf(), JSON.stringify(verified))
}

/** Returns false when the last verified entry has another digest now. Retention may have removed it. */
export async function isStillThere({ last, digest }: Verified, signal: AbortSignal): Promise<boolean> {
  if (last === 0) return true
  const text = await readText(at`/admin/evidence/export`, { since_sequence: last - 1, limit: 1 }, signal)
  if (text.includes(`"entry_digest":"${digest}"`)) return true
  const status = await read<{ readonly retention_checkpoint: number | null }>(at`/admin/evidence/status`, {}, signal)
  return (status.retention_checkpoint ?? 0) >= last
}
