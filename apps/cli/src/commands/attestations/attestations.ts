import { canonicalJson, isPlainText } from '@chancery/protocol'
import type { Attestation, JsonObject } from '@chancery/protocol'
import { issueRecord } from '../../connection/record-command.ts'
import type { CommandContext } from '../../context.ts'
import type { Members, Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadNodeKey } from '../../files/keys.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import { readPairs } from '../../arguments/pairs.ts'

function attestationMembers(attestation: Attestation): Members {
  const { claims, subject_public_key: key } = attestation
  return [
    ['attestation', attestation.attestation_id],
    ['issuer', attestation.issuer_sovereign_id],
    ['subject', attestation.subject_id],
    ['roles', attestation.roles.join(', ') || '-'],
    ['subject key', key ?? '-'],
    ['valid', `${attestation.valid_from} to ${attestation.expires_at}`],
    ['claims', Object.keys(claims).length === 0 ? '-' : canonicalJson(claims)],
  ]
}

/** Runs `attestation issue`. With --json it prints the signed record, ready for a file. */
export async function runAttestationIssue(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd } = context
  const subject_id = args.required('subject')
  if (!isPlainText(subject_id, 256)) throw usageError('A subject is 1 to 256 characters without control characters.')
  const key = options.text('node')
  const request = {
    subject_id,
    roles: options.list('role'),
    validity_hours: timeSpanOrDefault(options, 'valid-for', { unit: 'h', min: 1, max: 26_280 }),
    claims: await readClaims(cwd, options),
    ...(key === undefined ? {} : { subject_public_key: await loadNodeKey(cwd, '--node', key) }),
  }
  return issueRecord(context, options, ({ attestations }) => attestations.issue(request), {
    title: 'Attested:',
    members: attestationMembers,
    id: ({ attestation_id }) => attestation_id,
  })
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
