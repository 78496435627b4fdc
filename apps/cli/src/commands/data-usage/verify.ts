import { randomUUID } from 'node:crypto'
import { accessIntentForm, asJson, licensePolicyForm, readReceived, visible } from '@chancery/protocol'
import type { DataAccessIntent, DataLicensePolicy, JsonObject, Received } from '@chancery/protocol'
import { type Connection, connect, connectAsOperator } from '../../connection/connection.ts'
import type { RecordedUsage, UsageVerdict } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { type RecordKind, loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { usageError } from '../../errors/failure.ts'
import { fields } from '../../output/table.ts'
import { describeIntent } from './describe.ts'
import { licenseeOf } from './licensee.ts'

const INTENT: RecordKind<Received<DataAccessIntent>> = {
  name: 'a data access intent',
  member: 'intent',
  read: (value) => readReceived(accessIntentForm, value),
}

const LICENSE: RecordKind<Received<DataLicensePolicy>> = {
  name: 'a data license policy',
  member: 'policy',
  read: (value) => readReceived(licensePolicyForm, value),
}

/**
 * Runs `data-usage verify`: lists every violation, and stores them on request. The exit code is 1 when there is one,
 * and 2 for a license that was not verified: the authority checks its own signature only.
 */
export async function runDataUsageVerify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('intent'), INTENT)
  const [agentKeys, licensorKeys] = [
    await loadPublicKeys(cwd, options, 'agent-key'),
    await loadPublicKeys(cwd, options, 'licensor-key'),
  ]
  const isRecording = options.isSet('record')
  const connection = await (isRecording ? connectAsOperator : connect)(context, options)
  const license = await findLicense(cwd, connection, options)
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
  const unproven = isChecked ? [] : [`the signature of ${licensor_sovereign_id} on the license: give --licensor-key`]
  const isUnknown = verdict.valid && !isChecked
  const allowed = isUnknown
    ? `${style.warn('Not verified:')} the use keeps to this license, but the signature of the license was not verified.`
    : `${style.good('Allowed:')} the license permits this use.`
  const text = [
    verdict.valid ? allowed : `${style.bad('Not allowed:')}\n${found.join('\n')}`,
    describeIntent(record, style),
    fields([['license', `${policy_id} for ${licensee_sovereign_id}`]], style),
    ...unproven.map((part) => `${style.bad('Not checked:')} ${visible(part)}`),
    ...(verdict.entry ? [`Recorded as entry ${verdict.entry.store_sequence} of the evidence store.`] : []),
  ].join('\n')
  const valid = isUnknown ? null : verdict.valid
  const data = asJson({ ...verdict, valid, policy_id, licensee_sovereign_id, unproven })
  return { data, text, exitCode: isUnknown ? 2 : verdict.valid ? 0 : 1 }
}

/** `isOwn`: the authority checks the signature with its own keys. */
async function findLicense(
  cwd: string,
  connection: Connection,
  options: Options,
): Promise<{ record: DataLicensePolicy; wire: JsonObject; isOwn: boolean }> {
  const file = options.text('policy')
  if (file === undefined) {
    const record = await connection.ask((client) => client.dataUsage.current(licenseeOf(options)))
    return { record, wire: asJson(record), isOwn: true }
  }
  if (options.isSet('licensee')) throw usageError('Give --policy or --licensee, not both.')
  const { record, wire } = await loadRecord(cwd, file, LICENSE)
  const isOwn = connection.genesis?.network_name === record.licensor_sovereign_id
  return { record, wire, isOwn }
}
