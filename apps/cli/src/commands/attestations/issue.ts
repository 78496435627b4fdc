import { resolve } from 'node:path'
import { isPlainText, writeJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { connectAsOperator } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { misuse } from '../../failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files.ts'
import { loadJsonObject } from '../../json-file.ts'
import { loadPublicKey } from '../../keys.ts'
import { wholeNumberOrDefault } from '../../numbers.ts'
import type { Arguments, Options } from '../../options.ts'
import { readPairs } from '../../pairs.ts'
import { describeAttestation } from './describe.ts'

/** attestation issue: what it prints with --json is the signed record itself, ready for a file. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const subject_id = args.required('subject')
  if (!isPlainText(subject_id, 256)) throw misuse('A subject is 1 to 256 characters without control characters.')
  const key = options.text('public-key')
  const request = {
    subject_id,
    roles: options.list('role'),
    validity_hours: wholeNumberOrDefault(options, 'validity-hours', 1, 26_280),
    claims: await readClaims(cwd, options),
    ...(key === undefined ? {} : { subject_public_key: await loadPublicKey(cwd, '--public-key', key) }),
  }
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(cwd, out)
  // Before it is issued: a record nobody kept would still be valid.
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const attestation = await connection.ask((client) => client.attestations.issue(request))
  if (file !== undefined) await writeNewFile(file, `${writeJson(attestation)}\n`, FOR_ALL)
  const kept = file === undefined ? '' : `\nWritten to ${typed(cwd, file)}.`
  return { data: attestation, text: `${style.good('Attested:')}\n${describeAttestation(attestation, style)}${kept}` }
}

async function readClaims(cwd: string, options: Options): Promise<JsonObject> {
  const file = options.text('claims')
  const fromFile = file === undefined ? {} : await loadJsonObject(cwd, file)
  return { ...fromFile, ...readPairs(options, 'claim') }
}
