import { randomUUID } from 'node:crypto'
import { draftJoinCertificate, readPublicKey, signList, writeJson } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { misuse } from '../../failure.ts'
import { checkKeyId, loadSigner } from '../../keys.ts'
import type { Arguments, Options } from '../../options.ts'

const MAX_HOURS = 8760

/** cert issue: a certificate by a local key, for tests of verifiers. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const keyId = checkKeyId(options.required('key-id'))
  const nodeKey = options.required('node-key')
  if (readPublicKey(nodeKey) === undefined) throw misuse('--node-key needs an Ed25519 public key in base64.')
  const hours = Number(options.textOrDefault('valid-hours'))
  if (!Number.isInteger(hours) || hours < 1 || hours > MAX_HOURS) throw misuse(`--valid-hours is 1 to ${MAX_HOURS}.`)
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
  context.note('made for tests; nobody has admitted this node to a network')
  return { data: certificate, text: writeJson(certificate) }
}
