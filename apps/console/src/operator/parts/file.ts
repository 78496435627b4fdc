/** Offers a text as a file. Its name has only characters that every system takes. */
export function offerFile(name: string, text: string, type = 'application/json'): void {
  offerBlob(name, new Blob([text], { type }))
}

export function offerBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
  link.click()
  // The browser has read it when the click returned.
  URL.revokeObjectURL(url)
}
