import { type JsonObject, isPlainText } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import { loadPublicKey } from '../../files/keys.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readPairs } from '../../arguments/pairs.ts'
import { describeAttestation } from './describe.ts'

/** Runs `attestation issue`. With --json it prints the signed record, ready for a file. */
export async function runAttestationIssue(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const subject_id = args.required('subject')
  if (!isPlainText(subject_id, 256)) throw usageError('A subject is 1 to 256 characters without control characters.')
  const key = options.text('public-key')
  const request = {
    subject_id,
    roles: options.list('role'),
    validity_hours: wholeNumberOrDefault(options, 'validity-hours', 1, 26_280),
    claims: await readClaims(cwd, options),
    ...(key === undefined ? {} : { subject_public_key: await loadPublicKey(cwd, '--public-key', key) }),
  }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.attestations.issue(request)),
  )
  return {
    data: record,
    ids: [record.attestation_id],
    text: `${style.good('Attested:')}\n${describeAttestation(record, style)}${saved}`,
  }
}

async function readClaims(cwd: string, options: Options): Promise<JsonObject> {
  const file = options.text('claims')
  const fromFile = file === undefined ? {} : await loadJsonObject(cwd, file)
  const capabilities = options.list('capability')
  return {
    ...fromFile,
    ...readPairs(options, 'claim'),
    ...(capabilities.length === 0 ? {} : { capabilities }),
  }
}
