import {
  CLOCK_TOLERANCE,
  checkCertificate,
  isAuthenticList,
  positionOfList,
  presentedCertificate,
  readRevocationList,
  toTrustDecision,
  visible,
} from '@chancery/protocol'
import type { CallerTrust, RevocationList } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Options } from '../../arguments/options.ts'

/** `verify` of a certificate: the checks of a gateway with the given keys; prints reasons, not identifiers. */
export async function verifyCertificate(
  context: CommandContext,
  file: string,
  options: Options,
  anchors: ReadonlyMap<string, Uint8Array>,
): Promise<Result> {
  const certificate = await loadRecord(context.cwd, file, {
    name: 'a join certificate',
    member: 'certificate',
    read: (value) => presentedCertificate(value, ''),
  })
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
  const { network_name: network } = certificate
  const known = `the certificate is signed by ${visible(network)} and not expired`
  if (isWaived) return { data, text: `trusted: ${known}. Revocation was not checked.` }
  const text = `Unknown: ${known}. No revocation list was given, so revocation was not checked.\nGive --crl with a signed list, or --no-revocation.`
  return { data, text, exitCode: 3 }
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
