import {
  CLOCK_TOLERANCE,
  checkCertificate,
  draftJoinCertificate,
  isAuthenticList,
  positionOfList,
  presentedCertificate,
  readPublicKey,
  readRevocationList,
  signList,
  toTrustDecision,
  writeJson,
} from '@chancery/protocol'
import type { CallerTrust, RevocationList } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { randomUUID } from 'node:crypto'
import { checkKeyId, loadSigner } from '../../files/keys.ts'

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

/** Runs `cert verify`: makes the checks of a gateway with the given anchors; prints reasons, not identifiers. */
export async function runCertVerify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const certificate = await loadRecord(context.cwd, args.required('file'), {
    name: 'a join certificate',
    member: 'certificate',
    read: (value) => presentedCertificate(value, ''),
  })
  const anchors = readAnchors(options)
  const listFile = options.text('crl')
  const isWaived = options.isSet('no-revocation')
  if (isWaived && listFile !== undefined) throw usageError('Give --crl or --no-revocation, not both.')
  const list = listFile === undefined ? undefined : await loadList(context, listFile)
  const now = context.now()
  const trust: CallerTrust = { anchors, skew: CLOCK_TOLERANCE, now, list: await toCallerMaterial(list, anchors) }
  const verdict = await checkCertificate(certificate, trust)
  const decision = toTrustDecision(verdict, { network: certificate.network_name, policyRevision: null, now })
  const { reasons } = decision
  const checked = list === undefined ? 'not_checked' : 'checked'
  if (!decision.trusted)
    return {
      data: { trusted: false, revocation: checked, reasons },
      text: ['not trusted:', ...reasons].join('\n'),
      exitCode: 1,
    }
  if (list !== undefined) return { data: { trusted: true, revocation: checked, reasons }, text: 'trusted' }
  // A revoked certificate has valid signatures and times. Only a program that waives the check may read `true`.
  const data = { trusted: isWaived ? true : null, revocation: checked, reasons }
  const missing = 'Revocation was not checked: no list was given.'
  if (isWaived) return { data, text: `trusted, as far as signatures and times go.\n${missing}` }
  const text = `Signatures and times are valid. ${missing}\nGive --crl with a signed list, or --no-revocation.`
  return { data, text, exitCode: 2 }
}

function readAnchors(options: Options): ReadonlyMap<string, Uint8Array> {
  return new Map(
    Object.entries(readPairs(options, 'anchor')).map(([id, text]) => {
      const key = readPublicKey(text)
      if (key === undefined) throw usageError(`--anchor ${id} needs an Ed25519 public key in base64.`)
      return [id, key]
    }),
  )
}

function loadList({ cwd }: CommandContext, file: string): Promise<RevocationList> {
  const limits = { maxDepth: 64, maxValues: Number.MAX_SAFE_INTEGER, maxNames: Number.MAX_SAFE_INTEGER }
  return loadRecord(cwd, file, { name: 'a revocation list', member: 'crl', read: readRevocationList }, limits)
}

async function toCallerMaterial(
  list: RevocationList | undefined,
  anchors: ReadonlyMap<string, Uint8Array>,
): Promise<CallerTrust['list']> {
  if (list === undefined) return undefined
  const entries = list.revoked_certificates.toReversed().map((entry) => [entry.certificate_id, entry] as const)
  // The first of two entries counts, so it is inserted last.
  const first = new Map(entries)
  const find = (id: string) => {
    const entry = first.get(id)
    return entry === undefined ? undefined : { reason: entry.reason, revoked_at: entry.revoked_at, withdrawn: false }
  }
  return { ...positionOfList(list), authentic: await isAuthenticList(list, anchors), revocations: { find } }
}
