import { type Reader, SettingError } from '@chancery/service-kit'

export const httpsUrl: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '' && !value.includes('#')
  if (!isPlain) throw new SettingError('must be an https URL without user info and fragment')
  return value
}

export const trueFalse: Reader<boolean> = (value) => {
  if (value === 'true') return true
  if (value === 'false') return false
  throw new SettingError('must be true or false')
}
