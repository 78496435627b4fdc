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

/** Runs `data-usage verify`: lists every violation; the exit code is 1 when there is one. */
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
  const title = verdict.valid
    ? `${style.good('Allowed:')} the license permits this use.`
    : `${style.bad('Not allowed:')}\n${found.join('\n')}`
  const text = `${title}\n${describeIntent(record, style)}`
  return { data: { ...verdict, violations: [...verdict.violations] }, text, exitCode: verdict.valid ? 0 : 1 }
}

async function findLicense(cwd: string, connection: Connection, options: Options): Promise<JsonObject> {
  const file = options.text('policy')
  if (file !== undefined) return (await loadRecord(cwd, file, LICENSE)).wire
  return asJson(await connection.ask((client) => client.dataUsage.current()))
}
