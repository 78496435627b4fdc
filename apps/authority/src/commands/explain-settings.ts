import { type ExplainedSetting, explainSettings, readProcessSettings } from '@chancery/service-kit'
import { ALL_AUTHORITY_SETTINGS, readAuthoritySettings } from '../settings/authority-settings.ts'
import { seedNameOf, seedSettings } from '../settings/key-settings.ts'
import type { CommandArguments } from './key-succession.ts'

/** Every setting of an authority with its value and origin, and the problems that would stop its start. */
export interface ExplainedSettings {
  readonly settings: readonly ExplainedSetting[]
  readonly problems: readonly string[]
}

export async function explainAuthority(args: CommandArguments): Promise<ExplainedSettings> {
  let settings: readonly ExplainedSetting[] = []
  const { problems } = await readProcessSettings(args, (sources) => {
    settings = explainSettings({ ...ALL_AUTHORITY_SETTINGS, ...seedSettings(seedNameOf(sources)) }, sources)
    return readAuthoritySettings(sources)
  })
  return { settings, problems }
}
