import { type OfflineTrust, signerKeys, verifyForeignDecision } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import { usageError } from '../../errors/failure.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import type { EvaluatedFile, VerifiedFile } from './evaluated.ts'

/** The options of a decision on a member of a partner; undefined when none was given. */
export function foreignDecisionFiles(options: Options): ForeignFiles | undefined {
  const [attestation, treaty, context] = [options.text('attestation'), options.text('treaty'), options.text('context')]
  if (attestation === undefined && treaty === undefined && context === undefined) return undefined
  if (attestation === undefined || treaty === undefined)
    throw usageError("A decision on a partner's member needs --attestation and --treaty.")
  return { attestation, treaty, context }
}

interface ForeignFiles {
  readonly attestation: string
  readonly treaty: string
  readonly context: string | undefined
}

/** Follows the decision to context, attestation and treaty (protocol/trust-operations 4.13). */
export async function verifyForeignFile(
  cwd: string,
  evaluated: EvaluatedFile | undefined,
  { files, trust }: { readonly files: ForeignFiles; readonly trust: OfflineTrust },
): Promise<VerifiedFile> {
  if (evaluated === undefined)
    throw usageError(
      'The file must contain decision and justification_proof, as evaluate --out and ask --out write them.',
    )
  const { decision, proof: justification } = evaluated
  const context = files.context === undefined ? evaluated.context : await loadJsonObject(cwd, files.context)
  if (context === undefined) throw usageError('The file holds no context. Give it with --context.')
  const attestation = await loadJsonObject(cwd, files.attestation)
  const treaty = await loadJsonObject(cwd, files.treaty)
  const keys = signerKeys(trust, decision)
  const given = { decision, justification, context, attestation, treaty }
  const verdict = await verifyForeignDecision(given, { keys, now: trust.now })
  const { genesis } = trust
  if (verdict.accepted && genesis !== undefined && decision['operator_sovereign_id'] !== genesis.network_name)
    return { ok: false, reason: 'wrong_issuer' }
  if (verdict.accepted) {
    const parts = { ok: true, result: verdict.reason } as const
    return genesis === undefined
      ? { ...parts, checked: ['signature', 'time', 'basis'], unproven: ['network', 'revocation'] }
      : { ...parts, checked: ['signature', 'network', 'time', 'basis'], unproven: ['revocation'] }
  }
  const { reason, problem } = verdict
  return { ok: false, reason, ...(problem === undefined ? {} : { problem }) }
}
