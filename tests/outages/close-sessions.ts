import { loadCryptoki } from '../../apps/authority/src/signing/token-session.ts'

/** Loaded first in an authority: SIGUSR2 ends the sessions of its token, as unplugging the token does. */
process.on('SIGUSR2', () => void closeSessions(process.env['NA_PKCS11_MODULE'] ?? ''))

async function closeSessions(modulePath: string): Promise<void> {
  const { module } = await loadCryptoki(modulePath)
  for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
}
