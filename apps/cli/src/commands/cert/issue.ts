import { randomUUID } from 'node:crypto'
import { draftJoinCertificate, readPublicKey, signList, writeJson } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { checkKeyId, loadSigner } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

const MAX_HOURS = 8760

/** Runs `cert issue`: signs a certificate with a local key, for tests of verifiers. */
export async function runCertIssue(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const keyId = checkKeyId(options.required('key-id'))
  const nodeKey = options.required('node-key')
  if (readPublicKey(nodeKey) === undefined) throw usageError('--node-key needs an Ed25519 public key in base64.')
  const hours = Number(options.textOrDefault('valid-hours'))
  if (!Number.isInteger(hours) || hours < 1 || hours > MAX_HOURS)
    throw usageError(`--valid-hours is 1 to ${MAX_HOURS}.`)
  const signer = await loadSigner(context, options.required('key'), () => keyId)
  const draft = draftJoinCertificate({
    cert_id: randomUUID(),
    node_public_key: nodeKey,
    network_name: options.required('network'),
    roles: options.list('role'),
    issued_by: keyId,
    now: context.now(),
    validityHours: hours,
  })
  const certificate = await signList(draft, signer)
  context.note('test certificate: this node has not joined a network')
  return { data: certificate, text: writeJson(certificate) }
}
