/** Whether an address is of this machine. Plain HTTP to it does not leave the machine. */
export function isLocal({ hostname }: URL): boolean {
  return /^(?:localhost|127\.[0-9.]+|\[::1\])$/.test(hostname)
}
