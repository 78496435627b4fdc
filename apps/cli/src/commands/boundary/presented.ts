import { readPresentedAttestation } from '@chancery/protocol'
import type { PresentedAttestation } from '@chancery/sdk'
import { usageError } from '../../errors/failure.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Options } from '../../arguments/options.ts'

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readPresentedAttestation } as const

/** Reads the attestation of --presented, of the issuer and under the treaty that the options name. */
export async function loadPresented(cwd: string, options: Options): Promise<PresentedAttestation | undefined> {
  const file = options.text('presented')
  const [issuer, treaty] = [options.text('issuer'), options.has('treaty') ? options.text('treaty') : undefined]
  if (file === undefined) {
    if (issuer !== undefined || treaty !== undefined) throw usageError('--issuer and --treaty need --presented.')
    return undefined
  }
  if (issuer === undefined) throw usageError('--presented needs --issuer, the sovereign that issued the attestation.')
  return {
    attestation: await loadRecord(cwd, file, ATTESTATION),
    issuer_sovereign_id: issuer,
    ...(treaty === undefined ? {} : { treaty_id: treaty }),
  }
}

const isFileName = (text: string): boolean => text.endsWith('.json') || text.includes('/')

/** Reads --attestation: an id, or a file with the signed record. */
export async function attestationId(cwd: string, options: Options): Promise<string | undefined> {
  const given = options.text('attestation')
  if (given === undefined || !isFileName(given)) return given
  return (await loadRecord(cwd, given, ATTESTATION)).attestation_id
}
