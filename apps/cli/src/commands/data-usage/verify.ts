import { accessIntentForm, asJson, licensePolicyForm, readReceived, visible } from '@chancery/protocol'
import type { DataAccessIntent, DataLicensePolicy, JsonObject, Received } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { Connection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { RecordKind } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { describeIntent } from './describe.ts'

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

/** Runs `data-usage verify`: lists every violation. The exit code is 1 when there is one, and 2 for a license that nobody verified. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('intent'), INTENT)
  const [agentKeys, licensorKeys] = [
    await loadPublicKeys(cwd, options, 'agent-key'),
    await loadPublicKeys(cwd, options, 'licensor-key'),
  ]
  const connection = await connect(context, options)
  const policy = await findLicense(cwd, connection, options)
  const keys = {
    ...(agentKeys === undefined ? {} : { agent_public_keys: agentKeys }),
    ...(licensorKeys === undefined ? {} : { policy_public_keys: licensorKeys }),
  }
  const verdict = await connection.ask((client) => client.dataUsage.verify({ intent: wire, policy, ...keys }))
  const found = verdict.violations.map(
    ({ detail, violation_type }) => `  - ${visible(detail)} (${visible(violation_type)})`,
  )
  // The authority verifies its own signature only. A license of another network is a file that anyone can write.
  const isSigned =
    licensorKeys !== undefined ||
    !options.isSet('policy') ||
    policy['licensor_sovereign_id'] === connection.genesis?.network_name
  const isUnproven = verdict.valid && !isSigned
  const allowed = isUnproven
    ? `${style.warn('Not verified:')} the use keeps to this license, but nobody verified who signed the license.\nGive --licensor-key with the key of its licensor.`
    : `${style.good('Allowed:')} the license permits this use.`
  const title = verdict.valid ? allowed : `${style.bad('Not allowed:')}\n${found.join('\n')}`
  const text = `${title}\n${describeIntent(record, style)}`
  const license_signature = isSigned ? 'checked' : 'not_checked'
  return {
    data: {
      ...verdict,
      valid: isUnproven ? null : verdict.valid,
      license_signature,
      violations: [...verdict.violations],
    },
    text,
    exitCode: isUnproven ? 2 : verdict.valid ? 0 : 1,
  }
}

async function findLicense(cwd: string, connection: Connection, options: Options): Promise<JsonObject> {
  const file = options.text('policy')
  if (file !== undefined) return (await loadRecord(cwd, file, LICENSE)).wire
  return asJson(await connection.ask((client) => client.dataUsage.current()))
}
