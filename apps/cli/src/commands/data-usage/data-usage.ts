import { accessIntentForm, asJson, asReceived, licensePolicyForm, verifyReceived, visible } from '@chancery/protocol'
import type { DataAccessIntent, DataLicensePolicy, JsonObject } from '@chancery/protocol'
import { type Members, type Result, fields, plural } from '../../output/screen.ts'
import type { LicenseRequest, RecordedUsage, UsageVerdict } from '@chancery/sdk/authority'
import { type Connection, FOLLOW_HINT, connect, connectAsOperator, signersAt } from '../../connection/connection.ts'
import { issueRecord } from '../../connection/record-command.ts'
import type { CommandContext } from '../../context.ts'
import { loadRecord, loadStructured, recordKind, saveRecord } from '../../files/json-file.ts'
import type { Options } from '../../arguments/options.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { randomUUID } from 'node:crypto'
import { loadNamedKeys } from '../../files/named-keys.ts'

function licenseMembers(policy: DataLicensePolicy): Members {
  const { max_volume_bytes_per_session: cap } = policy
  return [
    ['policy', policy.policy_id],
    ['licensor', policy.licensor_sovereign_id],
    ['licensee', policy.licensee_sovereign_id],
    ['sources', policy.allowed_source_ids.join(', ') || 'none: nothing is licensed'],
    ['access', policy.allowed_access_types.join(', ') || 'read'],
    ['volume', cap === null ? 'unlimited' : `up to ${plural(cap, 'byte')} a session`],
    ['prohibited', policy.prohibited_classification_tags.join(', ') || '-'],
    ['valid', `${policy.valid_from} to ${policy.valid_until}`],
  ]
}

function intentMembers(intent: DataAccessIntent): Members {
  const { estimated_volume_bytes: volume } = intent
  return [
    ['intent', intent.intent_id],
    ['agent', intent.agent_sovereign_id],
    ['decision', intent.decision_id],
    ['sources', intent.declared_sources.map(({ source_id }) => source_id).join(', ') || '-'],
    ['access', intent.declared_access_types.join(', ') || '-'],
    ['volume', volume === null ? 'not estimated' : `about ${plural(volume, 'byte')}`],
    ['until', intent.expires_at],
  ]
}

/** `policy publish` of a license: sends the file unchanged; the authority reads, signs and activates it. */
export async function publishLicense(context: CommandContext, file: string, options: Options): Promise<Result> {
  if (options.isSet('dry-run'))
    throw usageError('A license has no preview.', 'Compare it with: chancery policy show license')
  const terms = (await loadStructured(context.cwd, file)) as LicenseRequest
  const shown = { title: 'Published and active:', members: licenseMembers }
  return issueRecord(context, options, ({ dataUsage }) => dataUsage.publish(terms), shown)
}

/** Without the option the authority returns its newest license. */
function licenseeOf(options: Options): { licensee_sovereign_id?: string } {
  const licensee = options.text('licensee')
  return licensee === undefined ? {} : { licensee_sovereign_id: licensee }
}

/** `policy show license`: verifies the license with the genesis block, because a proxy could send another one. */
export async function showLicense(context: CommandContext, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const { record, saved } = await saveRecord(context.cwd, options, async () => {
    const policy = await connection.ask((client) => client.dataUsage.current(licenseeOf(options)))
    await requireSignature(connection, policy)
    return policy
  })
  return { data: record, text: `${fields(licenseMembers(record), context.style)}${saved}` }
}

async function requireSignature(connection: Connection, policy: DataLicensePolicy): Promise<void> {
  const keys = signersAt(connection, policy)
  if (keys === undefined) return
  const verdict = await verifyReceived(asReceived(licensePolicyForm, policy), keys)
  if (verdict.ok) return
  throw new CommandError({
    code: 'invalid_signature',
    message: `The license from ${connection.url} is not signed by the authority of the configured genesis block.`,
    hint: `This is another network, or a proxy changed the response. Do not use it. ${FOLLOW_HINT}`,
  })
}

const INTENT = recordKind('a data access intent', 'intent', accessIntentForm)
const LICENSE = recordKind('a data license policy', 'policy', licensePolicyForm)

/**
 * An intent against its license, at the authority: lists every violation, and stores them when it is recorded. The exit
 * code is 1 when there is one, and 3 for a license that was not verified: the authority checks its own signature only.
 */
export async function checkUsage(
  context: CommandContext,
  file: string,
  options: Options,
  isRecording = false,
): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, file, INTENT)
  const agentKeys = await loadNamedKeys(cwd, options, record.agent_sovereign_id)
  const connection = await (isRecording ? connectAsOperator : connect)(context, options)
  const license = await findLicense(cwd, connection, options)
  const licensorKeys = await loadNamedKeys(cwd, options, license.record.licensor_sovereign_id)
  const keys = {
    ...(agentKeys === undefined ? {} : { agent_public_keys: agentKeys }),
    ...(licensorKeys === undefined ? {} : { policy_public_keys: licensorKeys }),
  }
  const request = { intent: wire, policy: license.wire, ...keys }
  const verdict = await connection.ask(({ dataUsage }): Promise<UsageVerdict & Partial<RecordedUsage>> =>
    isRecording ? dataUsage.record(request, { idempotencyKey: randomUUID() }) : dataUsage.verify(request),
  )
  const found = verdict.violations.map(
    ({ detail, violation_type }) => `  - ${visible(detail)} (${visible(violation_type)})`,
  )
  const { policy_id, licensor_sovereign_id, licensee_sovereign_id } = license.record
  const isChecked = licensorKeys !== undefined || license.isOwn
  const unproven = isChecked
    ? []
    : [
        `the signature of ${licensor_sovereign_id} on the license: give --key ${visible(license.record.licensor_sovereign_id)}=<key>`,
      ]
  const isUnknown = verdict.valid && !isChecked
  const allowed = isUnknown
    ? `${style.warn('Not verified:')} the use keeps to this license, but the signature of the license was not verified.`
    : `${style.good('Allowed:')} the license permits this use.`
  const text = [
    verdict.valid ? allowed : `${style.bad('Not allowed:')}\n${found.join('\n')}`,
    fields(intentMembers(record), style),
    fields([['license', `${policy_id} for ${licensee_sovereign_id}`]], style),
    ...unproven.map((part) => `${style.bad('Not checked:')} ${visible(part)}`),
    ...(verdict.entry ? [`Recorded as entry ${verdict.entry.store_sequence} of the evidence store.`] : []),
  ].join('\n')
  const valid = isUnknown ? null : verdict.valid
  const data = asJson({ ...verdict, valid, policy_id, licensee_sovereign_id, unproven })
  return { data, text, exitCode: isUnknown ? 3 : verdict.valid ? 0 : 1 }
}

/** `isOwn`: the authority checks the signature with its own keys. */
async function findLicense(
  cwd: string,
  connection: Connection,
  options: Options,
): Promise<{ record: DataLicensePolicy; wire: JsonObject; isOwn: boolean }> {
  const file = options.has('policy') ? options.text('policy') : undefined
  if (file === undefined) {
    const record = await connection.ask((client) => client.dataUsage.current({}))
    return { record, wire: asJson(record), isOwn: true }
  }
  const { record, wire } = await loadRecord(cwd, file, LICENSE)
  const isOwn = connection.genesis?.network_name === record.licensor_sovereign_id
  return { record, wire, isOwn }
}
