import { describe, expect, it } from 'vitest'
import { Problem } from './api/problem'
import { secretKeys } from './secretKeys'

describe('keys of a Secret', () => {
  it('are those that are typed, a line each', () => {
    expect(secretKeys('sas_token=signature')).toEqual({ sas_token: 'signature' })
    expect(secretKeys(' user = name \n\npassword=word\r\n')).toEqual({ user: 'name', password: 'word' })
  })

  it.each(['', '  ', '\n \n'])('are the parts\' own names where nothing is typed: %j', (typed) => {
    expect(secretKeys(typed)).toBeNull()
  })

  it.each(['signature', 'sas_token', 'sas_token=', '=signature', 'token=signature', 'user=a=b', 'user=a\nuser=b'])('are refused before they are sent: %j', (typed) => {
    expect(() => secretKeys(typed)).toThrow(Problem)
  })
})
