import { type Signer, readCheckpointText, readNote } from '@chancery/protocol'
import { type Log, StartError } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { openSigner } from '../signing/key-providers.ts'

/** The keys of the log, the current one first. None of them may have another role: losing it would compromise both. */
export async function openLogSigners(
  { logKeyFiles, operators }: Pick<AuthoritySettings, 'logKeyFiles' | 'operators'>,
  reserved: readonly string[],
  log: Log,
): Promise<readonly Signer[]> {
  const setting = 'NA_LOG_PRIVATE_KEY_FILES'
  const used = new Set([...reserved, ...[...operators.values()].map(({ publicKey }) => publicKey)])
  const signers: Signer[] = []
  for (const path of logKeyFiles) {
    const signer = await openSigner({ provider: 'file', setting, path }, 'log', log)
    if (used.has(signer.publicKey))
      throw new StartError(
        `${setting}: the key of ${path} has another role already; make one with chancery keygen operator`,
      )
    used.add(signer.publicKey)
    signers.push(signer)
  }
  return signers
}

/** A log that has entries keeps its name: witnesses know it by that name, and another one would be another log. */
export async function checkLogOrigin(
  database: Database,
  { logOrigin }: Pick<AuthoritySettings, 'logOrigin'>,
): Promise<void> {
  const row = await database.read
    .selectFrom('evidence_log_checkpoints')
    .select('note')
    .where('tree_size', '>', 0)
    .orderBy('tree_size', 'desc')
    .limit(1)
    .executeTakeFirst()
  const begun = readCheckpointText(readNote(row?.note ?? '')?.text ?? '')?.origin
  if (logOrigin === undefined || begun === undefined || begun === logOrigin) return
  await database.close()
  throw new StartError(
    `NA_LOG_ORIGIN: the log has entries under the name ${begun}, which cannot change; set it to this name, or remove the setting`,
  )
}
