/**
 * Loaded first in an authority with a key in a token: SIGUSR2 ends all sessions of the token, as when it is unplugged or
 * restarted. The library has one state for the whole process, so another binding of it reaches the same sessions.
 */
process.on('SIGUSR2', () => {
  void import('pkcs11js').then(({ default: { PKCS11 } }) => {
    const module = new PKCS11()
    module.load(/module-path=([^&]*)/.exec(process.env['NA_KEY_URI'] ?? '')?.[1] ?? '')
    for (const slot of module.C_GetSlotList(true)) module.C_CloseAllSessions(slot)
  })
})
