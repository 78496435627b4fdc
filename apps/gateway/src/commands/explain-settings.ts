import { type ExplainedSetting, explainSettings, readProcessSettings } from '@chancery/service-kit'
import { GATEWAY_SETTINGS, readGatewaySettings } from '../settings/gateway-settings.ts'

/** Every setting of a gateway with its value and origin, and the problems that would stop its start. */
export async function explainGateway(
  envFile: string | undefined,
): Promise<{ readonly settings: readonly ExplainedSetting[]; readonly problems: readonly string[] }> {
  let settings: readonly ExplainedSetting[] = []
  const { problems } = await readProcessSettings({ flags: {}, envFile }, (sources) => {
    settings = explainSettings(GATEWAY_SETTINGS, sources)
    return readGatewaySettings(sources)
  })
  return { settings, problems }
}
