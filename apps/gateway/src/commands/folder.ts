import { readFile } from 'node:fs/promises'
import { type Finding, type SettingsResult, requireValues, systemClock } from '@chancery/service-kit'
import { type GatewaySettings, readGatewaySettings } from '../settings/gateway-settings.ts'
import { type CheckReport, checkConfiguration } from './check-configuration.ts'
import { diagnose } from './doctor/diagnose.ts'
import { initializeState } from './initialize-state.ts'
import { TOOLS } from './state-command.ts'

/** Runs `--check-config --online` on the files of a gateway, or on a draft of its policy. Prints nothing. */
export async function checkFiles(envFile: string, draftPolicy?: string): Promise<CheckReport> {
  const read = await readFileSettings(envFile)
  const { values } = read
  const checked =
    values === undefined || draftPolicy === undefined
      ? read
      : { ...read, values: { ...values, policyFile: draftPolicy } }
  return checkConfiguration(checked, { online: true, clock: systemClock })
}

/** Runs `--init-state` without printing: creates the state that the settings file names. */
export async function createState(envFile: string): Promise<void> {
  await initializeState(requireValues(await readFileSettings(envFile)), TOOLS)
}

/** Runs `gateway doctor` on the files alone. */
export async function diagnoseFiles(envFile: string): Promise<readonly Finding[]> {
  return diagnose(await readFileSettings(envFile), { offline: true })
}

/** Reads the file only. A variable of the shell must not change which files are created or checked. */
async function readFileSettings(envFile: string): Promise<SettingsResult<GatewaySettings>> {
  const text = await readFile(envFile, 'utf8')
  return readGatewaySettings({ flags: {}, env: {}, envFile: { path: envFile, text } })
}
