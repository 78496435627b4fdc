import { loadCryptoki } from '../../apps/authority/src/signing/token-session.ts'

/** Loaded first in an authority: SIGUSR2 ends the sessions of its token, as unplugging the token does. */
const MODULE = /module-path=([^&]*)/.exec(process.env['NA_KEY_URI'] ?? '')?.[1] ?? ''
process.on('SIGUSR2', () => void closeSessions(MODULE))

async function closeSessions(modulePath: string): Promise<void> {
  const { module } = await loadCryptoki(modulePath)
  for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
}
