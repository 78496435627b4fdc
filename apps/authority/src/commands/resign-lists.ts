import { type Instant, writePublicKeyFile } from '@chancery/protocol'
import { NothingToRecoverError } from '../recovery/recover.ts'
import { ClockError, type ResignResult, resignLists as signAgain } from '../recovery/resign-lists.ts'
import { type CommandArguments, isOperatorError, readOrReport, readSettingsOrExplain } from './key-succession.ts'
import { createLog } from '@chancery/service-kit'
import { openConnectome } from '../features/connectome/index.ts'
import { openCrl } from '../features/crl/index.ts'
import { openRecognitionTreaties } from '../features/recognition-treaties/index.ts'
import { openRevocationFeeds } from '../features/revocation-feeds/index.ts'
import type { RecoveryParts } from '../recovery/revoke-lost.ts'
import { PublishedDocuments } from '../requests/published-documents.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { openCore } from '../startup/open-core.ts'
import { readKeySource } from '../settings/key-settings.ts'
import { openSigner } from '../signing/key-providers.ts'
import { KeyUnavailableError } from '../signing/vault-signer.ts'

/** Runs a command of recovery with what it needs: the core, the revocation list and the feed. */
export async function withRecovery<Result>(
  settings: AuthoritySettings,
  work: (parts: RecoveryParts) => Promise<Result>,
): Promise<Result> {
  const log = createLog({ level: 'error', format: 'text' })
  const opened = await openCore(settings, { log, isRecovering: true })
  const parts = { ...opened.core, settings, publishedDocuments: new PublishedDocuments() }
  const connectome = openConnectome(parts)
  const crl = openCrl(parts)
  const recognitionTreaties = openRecognitionTreaties({ ...parts, connectome })
  const revocationFeeds = openRevocationFeeds({ ...parts, recognitionTreaties })
  try {
    return await work({ ...parts, crl, revocationFeeds })
  } finally {
    for (const feature of [revocationFeeds, recognitionTreaties, crl, connectome]) await feature.close()
    await opened.close()
  }
}

export interface ResignArguments extends CommandArguments {
  /** The present time, as another clock shows it. */
  readonly now: Instant
}

/** Signs list and feed again that a wrong clock dated in the future. */
export async function resignLists(args: ResignArguments): Promise<number> {
  const settings = await readSettingsOrExplain(args)
  if (settings === undefined) return 1
  try {
    const signed = await withRecovery(settings, (parts) => signAgain(parts, args.now))
    process.stdout.write(`${linesOf(signed).join('\n')}\n`)
    return 0
  } catch (error) {
    const isKnown = error instanceof NothingToRecoverError || error instanceof ClockError
    if (!(error instanceof Error) || (!isOperatorError(error) && !isKnown)) throw error
    process.stderr.write(`chancery: nothing was recovered: ${error.message}\n`)
    return 1
  }
}

function linesOf({ crlSequence, feedSequence }: ResignResult): readonly string[] {
  return [
    ...(crlSequence === undefined ? [] : [`revocation list ${crlSequence} is dated by this clock`]),
    ...(feedSequence === undefined ? [] : [`feed ${feedSequence} is dated by this clock`]),
    'verifiers that refused the ones dated ahead accept these; those stay in the record',
  ]
}

export type FoundKey =
  | { readonly ok: true; readonly publicKey: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly problems: readonly string[] }

/** The public key of the settings, for a genesis block. It may be in a token. */
export async function publicKey(args: CommandArguments): Promise<FoundKey> {
  const source = await readOrReport(args, readKeySource)
  const fail = (code: string, message: string): FoundKey => ({ ok: false, code, message, problems: [] })
  if (source === undefined) return fail('settings_invalid', 'The settings name no key of an authority.')
  try {
    const { publicKey: key } = await openSigner(source, 'unused', createLog({ level: 'error', format: 'text' }))
    return { ok: true, publicKey: key }
  } catch (error) {
    if (!(error instanceof KeyUnavailableError)) throw error
    return fail('key_unavailable', `There is no key: ${error.message}.`)
  }
}
